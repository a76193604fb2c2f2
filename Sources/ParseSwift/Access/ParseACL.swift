import Foundation

/// The access to an object: who may read it, and who may write it.
///
/// Entries are for everybody (`*`), users by their ids, and roles (`role:editors`). An object without
/// access rights may be read and written by everybody. The rights are checked for requests in
/// `ParseSwift.withIdentity(_:_:)`; other requests may do everything.
public struct ParseACL: Codable, Hashable, Sendable {
  enum Access: String { case read, write }

  private var entries: [String: [String: Bool]] = [:]

  /// Nobody may do anything.
  public init() {}

  /// From a field; nil if it is missing.
  init?(stored: Any?) {
    guard let stored, !(stored is NSNull) else { return nil }
    for (entry, rights) in stored as? [String: Any] ?? [:] {
      entries[entry] = (rights as? [String: Any] ?? [:]).compactMapValues { $0 as? Bool }
    }
  }

  public init(from decoder: any Decoder) throws {
    entries = try [String: [String: Bool]](from: decoder)
  }

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

  /// Whether members of a role may read.
  public func getReadAccess(roleName: String) -> Bool {
    getReadAccess(objectId: "role:" + roleName)
  }
  /// Whether members of a role may write.
  public func getWriteAccess(roleName: String) -> Bool {
    getWriteAccess(objectId: "role:" + roleName)
  }

  public mutating func setReadAccess(roleName: String, value: Bool) {
    setReadAccess(objectId: "role:" + roleName, value: value)
  }

  public mutating func setWriteAccess(roleName: String, value: Bool) {
    setWriteAccess(objectId: "role:" + roleName, value: value)
  }

  public func getReadAccess(objectId: String) -> Bool { has(.read, objectId) }
  public func getWriteAccess(objectId: String) -> Bool { has(.write, objectId) }

  public mutating func setReadAccess(objectId: String, value: Bool) {
    set(.read, objectId, value)
  }

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
