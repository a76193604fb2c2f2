/// The access to an object: who may read it, and who may write it.
///
/// Stored with the object. Not enforced yet: a process that has the database open may do everything.
public struct ParseACL: Codable, Hashable, Sendable {
  private var entries: [String: [String: Bool]] = [:]

  /// Nobody may do anything.
  public init() {}

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

  public func getReadAccess(objectId: String) -> Bool { entries[objectId]?["read"] ?? false }
  public func getWriteAccess(objectId: String) -> Bool { entries[objectId]?["write"] ?? false }

  public mutating func setReadAccess(objectId: String, value: Bool) {
    set("read", objectId, value)
  }

  public mutating func setWriteAccess(objectId: String, value: Bool) {
    set("write", objectId, value)
  }

  private mutating func set(_ access: String, _ objectId: String, _ value: Bool) {
    var entry = entries[objectId] ?? [:]
    entry[access] = value ? true : nil
    entries[objectId] = entry.isEmpty ? nil : entry
  }
}
