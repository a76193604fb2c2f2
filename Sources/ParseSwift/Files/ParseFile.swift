import Dispatch
import Foundation
import Hearth

/// Bytes with a name, of any length.
///
///     let cover = ParseFile(name: "cover.png", data: bytes)
///     let book = try Book(title: "Dune", cover: cover).save()     // with the bytes, in one commit
///     let again = try book.cover?.fetch().data
///
/// An object has only the file's name. The bytes are documents below `_File/<name>`, of 512 KiB
/// each. They are read by `fetch()`, and stay when an object no longer has the file: see
/// `delete()`. More than 8 MiB are committed before the object, which is the commit that makes the
/// file exist.
public struct ParseFile: Codable, Hashable, Sendable {
  /// The name. A save puts a new id and `_` before it, so that names are unique.
  public private(set) var name: String
  /// The bytes. Nil for a file that was read with an object, and not fetched.
  public private(set) var data: Data?
  /// The type of the bytes, such as `image/png`. Nil if none was given, and before `fetch()` of a
  /// file that was read with an object.
  public private(set) var mimeType: String?
  /// Whether the bytes were stored by `save()`, or the file was read with an object.
  public private(set) var isSaved: Bool
  /// Where the bytes of an unsaved file are.
  private var source: URL?

  /// Creates a file that is not stored. Its bytes are stored with the object that has it, or by
  /// `save()`.
  ///
  ///     let cover = ParseFile(name: "cover.png", data: bytes, mimeType: "image/png")
  ///
  /// - Parameters:
  ///   - name: The end of the stored name. A `/` becomes `_`.
  ///   - data: The bytes, of any number.
  ///   - mimeType: The type of the bytes. Stored with them, and not checked.
  public init(name: String = "file", data: Data, mimeType: String? = nil) {
    self.name = name
    self.data = data
    self.mimeType = mimeType
    isSaved = false
  }

  /// Creates a file that is not stored, with the bytes of a file of this machine. A save reads
  /// them: it throws `ParseError` with `.objectNotFound` if it cannot.
  ///
  ///     let cover = ParseFile(name: "cover.png", localURL: URL(filePath: "cover.png"))
  public init(name: String = "file", localURL: URL, mimeType: String? = nil) {
    self.name = name
    self.mimeType = mimeType
    isSaved = false
    source = localURL
  }

  /// Same as `init(name:localURL:mimeType:)`, for any URL. There is no client that downloads: a
  /// save throws `ParseError` with `.operationForbidden` unless it is a file URL.
  public init(name: String = "file", cloudURL: URL, mimeType: String? = nil) {
    self.init(name: name, localURL: cloudURL, mimeType: mimeType)
  }

  /// The URL that the file was created with. Nil for another file.
  public var cloudURL: URL? { source }

  /// An address of the stored file, by its name. Nil for a file that is not saved. No server answers it:
  /// `fetch()` reads the bytes.
  public var url: URL? {
    guard isSaved else { return nil }
    var components = URLComponents()
    components.scheme = "parse-file"
    components.host = ""
    components.path = "/" + name
    return components.url
  }

  /// A file of this machine with the bytes: the one that this was created with; of a file that was
  /// fetched, a copy in the folder for temporary files, which only the owner of the process can
  /// read. The copy is written when it is asked for, and stays until the folder is cleared. Nil
  /// without bytes, and on a full disk.
  public var localURL: URL? {
    if let source { return source.isFileURL ? source : nil }
    guard isSaved, let data else { return nil }
    return LocalCopies.write(data, name)
  }

  // MARK: Saving

  /// Stores the bytes, and returns the file with its stored name. A file that is saved stays as it
  /// is. More than 8 MiB are several commits; the last one makes the file exist. Throws
  /// `ParseError`.
  public func save() throws(ParseError) -> ParseFile {
    try reporting {
      var file = self
      let context = try ParseSwift.context
      guard try file.prepare() else { return file }
      try GuardedCommit(context: context, changed: [], files: [file]) { _, _ in false }.run()
      return file
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func save() async throws(ParseError) -> ParseFile {
    try await reporting {
      var file = self
      let context = try ParseSwift.context
      guard try file.prepare() else { return file }
      try await GuardedCommit(context: context, changed: [], files: [file]) { _, _ in false }.run()
      return file
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func save(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<ParseFile, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await save() }
  }

  // MARK: Reading

  /// Reads the bytes, all of them into memory, and returns the file with them. Throws `ParseError`
  /// with `.objectNotFound` if it is not stored.
  public func fetch() throws(ParseError) -> ParseFile {
    try reporting {
      let firestore = try ParseSwift.firestore
      return try fetched(firestore.blocking.getDocuments(parts(in: firestore)))
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func fetch() async throws(ParseError) -> ParseFile {
    try await reporting {
      try fetched(await parts(in: ParseSwift.firestore).getDocuments())
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func fetch(
    callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<ParseFile, ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await fetch() }
  }

  private func fetched(_ parts: QuerySnapshot) throws(ParseError) -> ParseFile {
    let documents = parts.documents
    guard let first = documents.first, first["parts"] as? Int == documents.count - 1 else {
      throw ObjectGraph.notFound
    }
    var file = self
    file.mimeType = first["mimeType"] as? String
    file.data = documents.dropFirst().reduce(into: Data()) { $0 += $1["bytes"] as? Data ?? Data() }
    return file
  }

  // MARK: Deleting

  /// Deletes the bytes. Objects keep the name, and their `fetch()` of the file throws. Throws
  /// `ParseError` with `.objectNotFound` if they are not stored.
  public func delete() throws(ParseError) {
    try reporting {
      let firestore = try ParseSwift.firestore
      let parts = try firestore.blocking.getDocuments(parts(in: firestore))
      try firestore.blocking.commit(deletion(of: parts, in: firestore))
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
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
  mutating func prepare() throws(ParseError) -> Bool {
    guard !isSaved else { return false }
    if data == nil, let source { data = try Self.bytes(of: source) }
    isSaved = true
    name = UUID().uuidString.lowercased() + "_" + name.replacing("/", with: "_")
    return true
  }

  private static func bytes(of source: URL) throws(ParseError) -> Data {
    guard source.isFileURL else {
      throw ParseError(
        .operationForbidden, "A file is not downloaded: read its bytes, and use init(name:data:).")
    }
    do { return try Data(contentsOf: source) } catch {
      throw ParseError(.objectNotFound, "The local file of a ParseFile cannot be read.", error)
    }
  }

  /// The document with the number of parts, without which the file is not stored, and the parts.
  fileprivate func documents(
    in firestore: Firestore
  ) -> (header: (DocumentReference, [String: Any]), parts: [(DocumentReference, Data)]) {
    let folder = firestore.collection("_File").document(name).collection("parts")
    let bytes = data ?? Data()
    let count = (bytes.count + Self.partBytes - 1) / Self.partBytes
    func document(_ number: Int) -> DocumentReference {
      // In the order of their numbers, as text.
      let digits = String(number)
      return folder.document(String(repeating: "0", count: max(0, 8 - digits.count)) + digits)
    }
    var header: [String: Any] = ["parts": count]
    header["mimeType"] = mimeType
    let parts = (0..<count).map { number in
      let part = bytes.dropFirst(number * Self.partBytes).prefix(Self.partBytes)
      return (document(number + 1), Data(part))
    }
    return ((document(0), header), parts)
  }

  // MARK: Coding

  private enum Key: String, CodingKey {
    case type = "__type"
    case name
  }

  /// Decodes the name. The file counts as saved, and has no bytes. Throws `ParseError` with
  /// `.incorrectType` for other JSON.
  public init(from decoder: any Decoder) throws {
    name = try reporting {
      try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .name)
    }
    isSaved = true
  }

  /// Encodes the name, and not the bytes. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode("File", forKey: .type)
    try container.encode(name, forKey: .name)
  }
}

/// Copies of stored files on this machine.
private enum LocalCopies {
  /// Nobody else can have a folder with the name.
  private static let folder: URL? = {
    let folder = FileManager.default.temporaryDirectory
      .appending(path: "parse-files-\(UUID().uuidString)")
    do {
      try FileManager.default.createDirectory(
        at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
      return folder
    } catch { return nil }
  }()

  /// Nil for a name that is a path, and if it cannot be written.
  static func write(_ data: Data, _ name: String) -> URL? {
    guard let folder, !name.contains("/"), !["", ".", ".."].contains(name) else { return nil }
    let file = folder.appending(path: name)
    do {
      try data.write(to: file, options: .atomic)
      return file
    } catch { return nil }
  }
}

/// The writes of new files.
///
///     at most 8 MiB        one commit with the object
///     more                 parts ─▶ parts ─▶ … ─▶ the object, with the numbers of parts
struct FileUpload {
  /// Commits before the last one.
  private(set) var before: [WriteBatch] = []
  private var last: [(DocumentReference, [String: Any])] = []

  /// A request has at most 10 MiB.
  private static let commitBytes = 8 * 1024 * 1024

  init(_ files: [ParseFile], _ firestore: Firestore) {
    let isLarge = files.reduce(0) { $0 + ($1.data?.count ?? 0) } > Self.commitBytes
    var bytes = Self.commitBytes
    for file in files {
      let (header, parts) = file.documents(in: firestore)
      for (reference, part) in parts {
        guard isLarge else {
          last.append((reference, ["bytes": part]))
          continue
        }
        bytes += part.count
        if bytes > Self.commitBytes {
          before.append(firestore.batch())
          bytes = part.count
        }
        before[before.count - 1].setData(["bytes": part], forDocument: reference)
      }
      last.append(header)
    }
  }

  var isEmpty: Bool { last.isEmpty }

  func add(to batch: WriteBatch) {
    for (reference, fields) in last { batch.setData(fields, forDocument: reference) }
  }
}
