/// The user for whom operations run: the claims that `@auth`, `@check` and expressions read.
///
///     let ada = DataConnectAuth(
///       uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
///     let saved = try await DataConnect.withAuth(ada) {
///       try await connector.upsertExtendedProfileMutation.execute { $0.status = "here" }
///     }
///
/// The claims are those that the program passes: verify them first.
public struct DataConnectAuth: Hashable, Sendable {
  /// The user's id, `auth.uid` in expressions.
  public var uid: String
  /// The claims, `auth.token` in expressions: `email`, `email_verified`,
  /// `firebase.sign_in_provider`, custom claims. Empty by default, so that `@auth(level: USER)`
  /// refuses the user: it reads `firebase.sign_in_provider`.
  public var token: DataObject

  /// Creates a user with verified claims. Nothing is verified here.
  ///
  ///     let ada = DataConnectAuth(
  ///       uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
  public init(uid: String, token: DataObject = DataObject()) {
    self.uid = uid
    self.token = token
  }
}
