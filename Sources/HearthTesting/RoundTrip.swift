import Foundation
import Hearth

/// Checks that a model can be stored: writes it, reads it back in several ways, and compares.
///
///     @Test func `a book is stored whole`() async throws {
///       try await expectRoundTrip(Book(title: "Dune", pages: 412, tags: ["sand"]))
///     }
///
/// The model is written with `setData(committing:)` and read with `getDocument(as:)` and `data(as:)`.
/// It is also converted with `Firestore.Encoder`, written with `setData`, read with `data()` and
/// converted back with `Firestore.Decoder`. Finally the file is reopened and the model read again.
/// The first result that is not equal to the model throws a `RoundTripDifference`, which lists the
/// differences field by field.
///
/// If types in the model conform to `DocumentCodable` or `DocumentValueCodable`, the bytes that they
/// write directly are also compared with those of `Codable` alone.
///
/// - `@DocumentID` is filled in by reading: an id that is nil in the model may come back with any
///   value, an id that is set names the document. An id that stays nil is reported: the
///   `CodingKeys` may lack it.
/// - `@ServerTimestamp` that is nil is filled in as well, and then differs: set it, or name it in
///   `ignoring`.
/// - Times are stored in microseconds, and `Date()` is finer: use dates of whole seconds.
/// - A model with a `DocumentReference` needs the `database` of that reference, which is reopened;
///   see `TemporaryDatabase.reopen()`.
///
/// - Parameters:
///   - model: The model to store.
///   - encoder: Encodes the model.
///   - decoder: Decodes it.
///   - database: The database to write to; by default a new one.
///   - ignoring: Properties that may change, by their path: `created`, `author.seen`, and for all
///     elements of an array `chapters.read`.
///   - fileID: The file that an error names.
///   - line: The line that an error names.
/// - Throws: `RoundTripDifference`, and the errors of the model's coding and of the database.
public func expectRoundTrip<Model: Codable & Equatable>(
  _ model: Model, encoder: Firestore.Encoder = Firestore.Encoder(),
  decoder: Firestore.Decoder = Firestore.Decoder(), in database: TemporaryDatabase? = nil,
  ignoring: Set<String> = [], fileID: String = #fileID, line: Int = #line
) async throws {
  try await expectRoundTrips(
    [model], encoder: encoder, decoder: decoder, in: database, ignoring: ignoring, fileID: fileID,
    line: line)
}

/// Like `expectRoundTrip`, for several models in one database.
///
///     try await expectRoundTrips([.dune, .emma, Book(title: "", pages: 0, tags: [])])
public func expectRoundTrips<Model: Codable & Equatable>(
  _ models: [Model], encoder: Firestore.Encoder = Firestore.Encoder(),
  decoder: Firestore.Decoder = Firestore.Decoder(), in database: TemporaryDatabase? = nil,
  ignoring: Set<String> = [], fileID: String = #fileID, line: Int = #line
) async throws {
  let database = try database ?? TemporaryDatabase()
  let position = "\(fileID):\(line)"
  var hasIDs = false
  func check(_ read: Model, _ model: Model, _ way: String, _ fields: [String: Any]?) throws {
    var differences = FieldComparison.differences(between: model, and: read, ignoring: ignoring)
    if hasIDs { differences += FieldComparison.forgottenIDs(in: read, ignoring: ignoring) }
    guard !differences.isEmpty else { return }
    throw RoundTripDifference(
      type: "\(Model.self)", way: way, fields: differences, stored: fields.map(Shown.fields) ?? "",
      position: position)
  }

  var paths: [String] = []
  for (index, model) in models.enumerated() {
    let ids = DocumentIDs.all(in: model)
    if !ids.isEmpty { hasIDs = true }
    let typed = document(ids.compactMap(\.value), index, in: database.firestore)
    paths.append(typed.path)
    try await typed.setData(committing: model, encoder: encoder)
    let wrong = try DirectComparison.differences(in: model, encoder: encoder)
    if !wrong.isEmpty {
      throw RoundTripDifference(
        type: "\(Model.self)", way: RoundTripDifference.directWay, fields: wrong,
        stored: try await typed.getDocument().data().map(Shown.fields) ?? "", position: position)
    }
    let snapshot = try await typed.getDocument()
    let stored = snapshot.data()
    try check(
      await typed.getDocument(as: Model.self, decoder: decoder), model, "getDocument(as:)", stored)
    try check(
      snapshot.data(as: Model.self, decoder: decoder), model, "snapshot.data(as:)", stored)

    let untyped = database.firestore.collection("untyped").document(typed.documentID)
    try await untyped.setData(encoder.encode(model))
    let fields = try await untyped.getDocument().data() ?? [:]
    // In `typed`, so that an id in the model can be compared with its reference.
    try check(
      decoder.decode(Model.self, from: fields, in: typed), model, "[String: Any]", fields)
  }

  try await database.reopen()
  for (path, model) in zip(paths, models) {
    let typed = database.firestore.document(path)
    try check(
      await typed.getDocument(as: Model.self, decoder: decoder), model,
      "getDocument(as:) after the file was reopened", await typed.getDocument().data())
  }
}

/// The document to write a model to: the one that its own id names, if it has one.
private func document(
  _ ids: [Any], _ index: Int, in firestore: Firestore
) -> DocumentReference {
  for id in ids {
    if let reference = id as? DocumentReference, reference.firestore === firestore {
      return reference
    }
    if let text = id as? String, !text.isEmpty, !text.contains("/") {
      return firestore.collection("typed\(index)").document(text)
    }
  }
  return firestore.collection("typed\(index)").document()
}

/// The error of `expectRoundTrip`: a model was not equal to itself after it was stored.
///
///     Book came back changed by getDocument(as:), at BookTests/BookTests.swift:12:
///       pages: 412 became 0
///       published: 2026-01-01 00:00:00.1234567 became 2026-01-01 00:00:00.123457
///         Times are stored in microseconds.
///     Stored: pages: 412, published: …
public struct RoundTripDifference: Error, CustomStringConvertible {
  /// A property that changed.
  public struct Field: Hashable, Sendable {
    /// The path in the model: `author.name`, `tags[1]`, `prices["USD"]`; `self` for the whole
    /// model.
    public let path: String
    /// The value in the model; for bytes written directly, the value that `Codable` writes.
    public let written: String
    /// The value that was read; for bytes written directly, the value in them.
    public let read: String
    /// The probable reason, if it is a known one.
    public let hint: String?
  }

  /// The model's type.
  public let type: String
  /// The call that read it, or `the bytes written directly`.
  public let way: String
  /// The properties that changed.
  public let fields: [Field]
  /// The fields of the stored document.
  public let stored: String
  let position: String

  /// By a conformance to `DocumentCodable` that writes something else than `Codable`.
  static let directWay = "the bytes written directly"

  /// The model, the call and the place in the test, a line for each property that changed, and the
  /// stored fields.
  public var description: String {
    let lines = fields.map { field in
      "\n  \(field.path): \(field.written) became \(field.read)"
        + (field.hint.map { "\n    \($0)" } ?? "")
    }
    return
      "\(type) came back changed by \(way), at \(position):\(lines.joined())\nStored: \(stored)"
  }
}
