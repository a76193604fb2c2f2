/// The maker of a request: a user's id, and the names of the user's roles.
///
///     try await ParseSwift.withIdentity(ParseIdentity(user: "u1", roles: ["editors"])) {
///       try await Book.query().find()    // the books that u1 or the editors may read
///     }
public struct ParseIdentity: Hashable, Sendable {
  /// The id of the user; nil for somebody unknown.
  public var user: String?
  /// The names of the user's roles, also of those that contain them.
  public var roles: [String]

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
