import Foundation

/// A position in the history of one database: after one change, before the next.
///
///     let bytes = change.token.bytes
///     // Stored, and read by a later run:
///     let token = try ChangeToken(bytes: bytes)
///     for try await change in db.changes(since: token) { print(change.document.path) }
///
/// Survives restarts. Put backups in place with `FirestoreFile.restore`: a copy by other means has the
/// same history, in which a token may later name another state. Codable, as its bytes.
/// `Firestore.changes(since:)` throws `outOfRange` for a token beyond which the change log has been
/// trimmed (see `FirestoreSettings.changeLogRetention`), and for one from before a restore (see
/// `FirestoreFile.restore`).
public struct ChangeToken: Sendable, Hashable {
  /// The id of the database's history.
  let database: Instant
  /// The sequence of the last change before this position.
  let sequence: UInt64

  init(database: Instant, sequence: UInt64) {
    self.database = database
    self.sequence = sequence
  }

  /// Whether both are of the same history of the same database.
  package func isOfHistory(of other: ChangeToken) -> Bool { database == other.database }

  /// Creates a token from its bytes. Throws `invalidArgument` if these are not a token's bytes.
  public init(bytes: Data) throws {
    guard bytes.count == 17, bytes.first == Self.version else {
      throw Status.invalidArgument("These bytes are not those of a change token.").nsError
    }
    let numbers = [UInt8](bytes.dropFirst())
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    database = Instant(microseconds: Int64(bitPattern: number(numbers[..<8])))
    sequence = number(numbers[8...])
  }

  private static let version: UInt8 = 1

  /// The token as 17 bytes. For one database, later tokens have greater bytes.
  public var bytes: Data {
    var bytes = Data([Self.version])
    withUnsafeBytes(of: UInt64(bitPattern: database.microseconds).bigEndian) {
      bytes.append(contentsOf: $0)
    }
    withUnsafeBytes(of: sequence.bigEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }
}

extension ChangeToken: Codable {
  /// Reads the bytes as `Data`: with `JSONDecoder`, a string in base64. Throws `DecodingError` if they are no token.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    do {
      try self.init(bytes: container.decode(Data.self))
    } catch let error as NSError where error.domain == FirestoreErrorDomain {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: error.localizedDescription)
    }
  }

  /// Writes the bytes as `Data`: with `JSONEncoder`, a string in base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(bytes)
  }
}
