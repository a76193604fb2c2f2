/// The maker of a request: a user's id, and the names of the user's roles.
///
///     let identity = ParseIdentity(user: "u1", roles: ["editors"])
///     let books = try await ParseSwift.withIdentity(identity) {
///       try await Book.query().find()  // the books that everybody, u1 or the editors may read
///     }
public struct ParseIdentity: Hashable, Sendable {
  /// The id of the user. Nil for an unknown user, who has only public access and that of `roles`.
  public var user: String?
  /// The names of the user's roles, without `role:`. Roles have no hierarchy here: also name those
  /// that contain the user's roles.
  public var roles: [String]

  /// Creates an identity, by default without roles. Nothing is verified here: the program knows who
  /// asks.
  ///
  ///     let ann = ParseIdentity(user: "ann", roles: ["editors"])
  public init(user: String?, roles: [String] = []) {
    self.user = user
    self.roles = roles
  }

  /// The entries of an ACL that concern the identity.
  var entries: [String] { ["*"] + [user].compactMap(\.self) + roles.map { "role:" + $0 } }
}

extension ParseACL {
  /// Whether the identity may do something; without an ACL everybody may do everything.
  static func allows(_ access: Access, _ acl: ParseACL?, to identity: ParseIdentity) -> Bool {
    guard let acl else { return true }
    return identity.entries.contains { acl.has(access, $0) }
  }
}
