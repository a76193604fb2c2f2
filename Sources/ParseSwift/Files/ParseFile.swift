import Dispatch
import Foundation
import Hearth

/// Bytes with a name, of any length.
///
///     let cover = ParseFile(name: "cover.png", data: bytes)
///     let book = try Book(title: "Dune", cover: cover).save()     // with the bytes, in one commit
///     let again = try book.cover?.fetch().data
///
/// An object has only the file's name. The bytes are documents below `_File/<name>`, of 512 KiB each. They
/// are read by `fetch()`, and stay when an object no longer has the file: see `delete()`.
public struct ParseFile: Codable, Hashable, Sendable {
  /// The name. A save puts a new id before it.
  public private(set) var name: String
  /// The bytes. Nil for a file that was read with an object, and not fetched.
  public private(set) var data: Data?
  /// The type of the bytes, such as "image/png".
  public private(set) var mimeType: String?
  /// Whether the bytes are stored.
  public private(set) var isSaved: Bool

  public init(name: String = "file", data: Data, mimeType: String? = nil) {
    self.name = name
    self.data = data
    self.mimeType = mimeType
    isSaved = false
  }

  // MARK: Saving

  /// Stores the bytes. A file that is saved stays as it is. Throws `ParseError`.
  public func save() throws(ParseError) -> ParseFile {
    try reporting {
      var file = self
      let firestore = try ParseSwift.firestore
      guard file.prepare() else { return file }
      let batch = firestore.batch()
      file.add(to: batch, firestore)
      try firestore.blocking.commit(batch)
      return file
    }
  }

  /// The form that suspends.
  public func save() async throws(ParseError) -> ParseFile {
    try await reporting {
      var file = self
      let firestore = try ParseSwift.firestore
      guard file.prepare() else { return file }
      let batch = firestore.batch()
      file.add(to: batch, firestore)
      try await batch.commit()
      return file
    }
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func save(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<ParseFile, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await save() }
  }

  // MARK: Reading

  /// The file with its bytes. Throws `ParseError` with `.objectNotFound` if it is not stored.
  public func fetch() throws(ParseError) -> ParseFile {
    try reporting {
      let firestore = try ParseSwift.firestore
      return try fetched(firestore.blocking.getDocuments(parts(in: firestore)))
    }
  }

  /// The form that suspends.
  public func fetch() async throws(ParseError) -> ParseFile {
    try await reporting {
      try fetched(await parts(in: ParseSwift.firestore).getDocuments())
    }
  }

  /// The form with a completion, which is called once: on `callbackQueue`, or else on any thread.
  public func fetch(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<ParseFile, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await fetch() }
  }

  private func fetched(_ parts: QuerySnapshot) throws(ParseError) -> ParseFile {
    let documents = parts.documents
    guard let first = documents.first, first["parts"] as? Int == documents.count else {
      throw ObjectGraph.notFound
    }
    var file = self
    file.mimeType = first["mimeType"] as? String
    file.data = documents.reduce(into: Data()) { $0 += $1["bytes"] as? Data ?? Data() }
    return file
  }

  // MARK: Deleting

  /// Deletes the bytes. Objects keep the name. Throws `ParseError` with `.objectNotFound` if they are not
  /// stored.
  public func delete() throws(ParseError) {
    try reporting {
      let firestore = try ParseSwift.firestore
      let parts = try firestore.blocking.getDocuments(parts(in: firestore))
      try firestore.blocking.commit(deletion(of: parts, in: firestore))
    }
  }

  /// The form that suspends.
  public func delete() async throws(ParseError) {
    try await reporting {
      let firestore = try ParseSwift.firestore
      try await deletion(of: parts(in: firestore).getDocuments(), in: firestore).commit()
    }
  }

  private func deletion(
    of parts: QuerySnapshot, in firestore: Firestore
  ) throws(ParseError) -> WriteBatch {
    guard !parts.isEmpty else { throw ObjectGraph.notFound }
    let batch = firestore.batch()
    for part in parts.documents { batch.deleteDocument(part.reference) }
    return batch
  }

  // MARK: Storage

  private static let partBytes = 512 * 1024

  private func parts(in firestore: Firestore) throws(ParseError) -> CollectionReference {
    guard isSaved, !name.contains("/") else { throw ObjectGraph.notFound }
    return firestore.collection("_File").document(name).collection("parts")
  }

  /// Gives the file its stored name. Returns whether its bytes have to be stored.
  mutating func prepare() -> Bool {
    guard !isSaved else { return false }
    isSaved = true
    name = UUID().uuidString.lowercased() + "_" + name.replacing("/", with: "_")
    return true
  }

  func add(to batch: WriteBatch, _ firestore: Firestore) {
    let parts = firestore.collection("_File").document(name).collection("parts")
    let bytes = data ?? Data()
    let count = max(1, (bytes.count + Self.partBytes - 1) / Self.partBytes)
    for number in 0..<count {
      let part = bytes.dropFirst(number * Self.partBytes).prefix(Self.partBytes)
      var fields: [String: Any] = ["bytes": Data(part)]
      if number == 0 {
        fields["parts"] = count
        fields["mimeType"] = mimeType
      }
      // In the order of their numbers, as text.
      let digits = String(number)
      let id = String(repeating: "0", count: max(0, 8 - digits.count)) + digits
      batch.setData(fields, forDocument: parts.document(id))
    }
  }

  /// As a value of a document.
  var stored: [String: Any] { ["__type": "File", "name": name] }

  // MARK: Coding

  private enum Key: String, CodingKey { case type = "__type", name }

  public init(from decoder: any Decoder) throws {
    name = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .name)
    isSaved = true
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode("File", forKey: .type)
    try container.encode(name, forKey: .name)
  }
}
