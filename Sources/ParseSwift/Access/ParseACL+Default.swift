import Hearth

extension ParseACL {
  private struct Default {
    var acl: ParseACL
    var hasAccessForCurrentUser: Bool
  }

  private static let defaults = DatabaseValues<Default>()

  /// Sets the ACL of objects that are created without one, in the database in use. Returns it.
  ///
  ///     var acl = ParseACL()
  ///     acl.publicRead = true
  ///     try ParseACL.setDefaultACL(acl, withAccessForCurrentUser: true)
  ///
  /// Kept in memory, for this process: set it after each `ParseSwift.initialize`. Throws
  /// `ParseError` with `.notInitialized`.
  ///
  /// - Parameters:
  ///   - acl: The access rights.
  ///   - withAccessForCurrentUser: True adds the rights to read and write for the user of the identity
  ///     that creates an object; see `ParseSwift.withIdentity(_:_:)`.
  @discardableResult
  public static func setDefaultACL(
    _ acl: ParseACL, withAccessForCurrentUser: Bool
  ) throws(ParseError) -> ParseACL {
    let firestore = try ParseSwift.firestore
    let setting = Default(acl: acl, hasAccessForCurrentUser: withAccessForCurrentUser)
    defaults.update(of: firestore) { $0 = setting }
    return acl
  }

  /// The ACL of objects that are created now without one. Throws `ParseError` with
  /// `.objectNotFound` if none was set, and with `.notInitialized`.
  public static func defaultACL() throws(ParseError) -> ParseACL {
    guard let acl = defaultACL(in: try ParseSwift.firestore) else {
      throw ParseError(.objectNotFound, "There is no default ACL: call setDefaultACL.")
    }
    return acl
  }

  static func defaultACL(in firestore: Firestore) -> ParseACL? {
    guard let setting = defaults[firestore] else { return nil }
    var acl = setting.acl
    if setting.hasAccessForCurrentUser, let user = ParseSwift.user {
      acl.setReadAccess(objectId: user, value: true)
      acl.setWriteAccess(objectId: user, value: true)
    }
    return acl
  }
}
