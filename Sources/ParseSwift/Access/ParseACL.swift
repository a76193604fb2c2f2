import Foundation

/// The access rights to an object: the users and roles that may read it, and those that may write
/// it.
///
///     var acl = ParseACL()
///     acl.publicRead = true
///     acl.setWriteAccess(roleName: "editors", value: true)
///     let book = try Book(ACL: acl, title: "Dune").save()
///
/// Entries are for everybody (`*`), users by their ids, and roles (`role:editors`); an identity may
/// do what any of its entries allows. An object whose `ACL` is nil may be read and written by
/// everybody. The rights are checked for requests in `ParseSwift.withIdentity(_:_:)`; other
/// requests may do everything.
public struct ParseACL: Codable, Hashable, Sendable {
  enum Access: String { case read, write }

  private var entries: [String: [String: Bool]] = [:]

  /// Creates an ACL without entries: no identity may read or write.
  public init() {}

  /// From a field; nil if it is missing.
  init?(stored: Any?) {
    guard let stored, !(stored is NSNull) else { return nil }
    for (entry, rights) in stored as? [String: Any] ?? [:] {
      entries[entry] = (rights as? [String: Any] ?? [:]).compactMapValues { $0 as? Bool }
    }
  }

  /// Decodes the JSON of Parse: `{"*": {"read": true}}`. Throws `ParseError` with `.incorrectType`
  /// for other JSON.
  public init(from decoder: any Decoder) throws {
    entries = try reporting { try [String: [String: Bool]](from: decoder) }
  }

  /// The value that a document stores for it.
  var json: [String: Any] { entries }

  /// Encodes the JSON of Parse. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws { try entries.encode(to: encoder) }

  /// Whether everybody may read.
  public var publicRead: Bool {
    get { getReadAccess(objectId: "*") }
    set { setReadAccess(objectId: "*", value: newValue) }
  }

  /// Whether everybody may write.
  public var publicWrite: Bool {
    get { getWriteAccess(objectId: "*") }
    set { setWriteAccess(objectId: "*", value: newValue) }
  }

  /// Whether members of a role may read. `roleName` is without `role:`.
  public func getReadAccess(roleName: String) -> Bool {
    getReadAccess(objectId: "role:" + roleName)
  }
  /// Whether members of a role may write. `roleName` is without `role:`.
  public func getWriteAccess(roleName: String) -> Bool {
    getWriteAccess(objectId: "role:" + roleName)
  }

  /// Lets members of a role read, or no longer by their role.
  public mutating func setReadAccess(roleName: String, value: Bool) {
    setReadAccess(objectId: "role:" + roleName, value: value)
  }

  /// Lets members of a role write, or no longer by their role.
  public mutating func setWriteAccess(roleName: String, value: Bool) {
    setWriteAccess(objectId: "role:" + roleName, value: value)
  }

  /// Whether the ACL has an entry by which a user may read. Ignores the user's roles, and
  /// `publicRead`.
  public func getReadAccess(objectId: String) -> Bool { has(.read, objectId) }
  /// Whether the ACL has an entry by which a user may write. Ignores the user's roles, and
  /// `publicWrite`.
  public func getWriteAccess(objectId: String) -> Bool { has(.write, objectId) }

  /// Lets a user read, or no longer by the user's id.
  public mutating func setReadAccess(objectId: String, value: Bool) {
    set(.read, objectId, value)
  }

  /// Lets a user write, or no longer by the user's id.
  public mutating func setWriteAccess(objectId: String, value: Bool) {
    set(.write, objectId, value)
  }

  func has(_ access: Access, _ entry: String) -> Bool {
    entries[entry]?[access.rawValue] ?? false
  }

  private mutating func set(_ access: Access, _ objectId: String, _ value: Bool) {
    var entry = entries[objectId] ?? [:]
    entry[access.rawValue] = value ? true : nil
    entries[objectId] = entry.isEmpty ? nil : entry
  }
}
