/// The user for whom operations run: the claims that `@auth`, `@check` and expressions read.
///
///     try await DataConnect.withAuth(DataConnectAuth(uid: "ada")) {
///       try await connector.upsertExtendedProfileMutation.execute { $0.status = "here" }
///     }
public struct DataConnectAuth: Hashable, Sendable {
  /// `auth.uid`
  public var uid: String
  /// `auth.token`: `email`, `email_verified`, `firebase.sign_in_provider`, custom claims.
  public var token: DataObject

  public init(uid: String, token: DataObject = DataObject()) {
    self.uid = uid
    self.token = token
  }
}
