import Foundation
import Hearth

/// Writes a model to a database, reads it back with each of the reading calls and by way of a dictionary, and throws
/// if what comes back is not equal to it.
///
///     @Test func `a book is stored whole`() async throws {
///       try await expectRoundTrip(Book(title: "Dune", pages: 412, tags: ["sand"]))
///     }
///
/// The model is written with `setData(encoding:)` and read with `getDocument(as:)` and `data(as:)`; it goes
/// through `[String: Any]`, with `Firestore.Encoder`, `setData`, `data()` and `Firestore.Decoder`; and it
/// is read once more after the file was closed and opened again. The first time that what comes back is not equal to the
/// model, `RoundTripDifference` tells, field by field, what became of it.
///
/// - `@DocumentID` is filled in as it is read: an id that is nil in the model may come back as any, an id
///   that is set is the document's. One that stays nil is told, for `CodingKeys` that forget it.
/// - `@ServerTimestamp` that is nil is filled in as well, and is then not what it was: set it, or
///   name it in `ignoring`.
/// - Times are stored in microseconds, finer than which `Date()` is: make dates of whole seconds.
/// - A model with a `DocumentReference` needs the `database` the reference is of. It is reopened; see
///   `TemporaryDatabase.reopen()`.
///
/// - Parameters:
///   - ignoring: Properties that may change, by their path: `created`, `author.seen`, and for all elements
///     of an array `chapters.read`.
/// - Throws: `RoundTripDifference`; and what the model's own coding or the database throws.
public func expectRoundTrip<Model: Codable & Equatable>(
  _ model: Model, encoder: Firestore.Encoder = Firestore.Encoder(),
  decoder: Firestore.Decoder = Firestore.Decoder(), in database: TemporaryDatabase? = nil,
  ignoring: Set<String> = [], fileID: String = #fileID, line: Int = #line
) async throws {
  try await expectRoundTrips(
    [model], encoder: encoder, decoder: decoder, in: database, ignoring: ignoring, fileID: fileID,
    line: line)
}

/// The same for many models, with one database.
///
///     try await expectRoundTrips([.dune, .emma, Book(title: "", pages: 0, tags: [])])
public func expectRoundTrips<Model: Codable & Equatable>(
  _ models: [Model], encoder: Firestore.Encoder = Firestore.Encoder(),
  decoder: Firestore.Decoder = Firestore.Decoder(), in database: TemporaryDatabase? = nil,
  ignoring: Set<String> = [], fileID: String = #fileID, line: Int = #line
) async throws {
  let database = try database ?? TemporaryDatabase()
  let place = "\(fileID):\(line)"
  var hasIDs = false
  func check(_ read: Model, _ model: Model, _ way: String, _ fields: [String: Any]?) throws {
    var differences = FieldComparison.differences(between: model, and: read, ignoring: ignoring)
    if hasIDs { differences += FieldComparison.forgottenIDs(in: read, ignoring: ignoring) }
    guard !differences.isEmpty else { return }
    throw RoundTripDifference(
      type: "\(Model.self)", way: way, fields: differences, stored: fields.map(Shown.fields) ?? "",
      place: place)
  }

  var paths: [String] = []
  for (index, model) in models.enumerated() {
    let ids = DocumentIDs.all(in: model)
    if !ids.isEmpty { hasIDs = true }
    let typed = document(ids.compactMap(\.value), index, in: database.firestore)
    paths.append(typed.path)
    try await typed.setData(encoding: model, encoder: encoder)
    let snapshot = try await typed.getDocument()
    let stored = snapshot.data()
    try check(
      await typed.getDocument(as: Model.self, decoder: decoder), model, "getDocument(as:)", stored)
    try check(
      snapshot.data(as: Model.self, decoder: decoder), model, "snapshot.data(as:)", stored)

    let untyped = database.firestore.collection("untyped").document(typed.documentID)
    try await untyped.setData(encoder.encode(model))
    let fields = try await untyped.getDocument().data() ?? [:]
    // With the reference that an id in the model may be compared with.
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

/// Where a model is written: where its own id says, if it has one.
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

/// A model was not equal to itself after it was stored.
///
///     Book came back changed by getDocument(as:), at BookTests/BookTests.swift:12:
///       pages: 412 became 0
///       published: 2026-01-01 00:00:00.1234567 became 2026-01-01 00:00:00.123457
///         Times are stored in microseconds.
///     Stored: pages: 412, published: …
public struct RoundTripDifference: Error, CustomStringConvertible {
  public struct Field: Hashable, Sendable {
    /// From the model: `author.name`, `tags[1]`, `prices["USD"]`; `self` for the model as a whole.
    public let path: String
    public let written: String
    public let read: String
    /// Why this may be, if it is a known trap.
    public let hint: String?
  }

  /// The model's type.
  public let type: String
  /// How it was read.
  public let way: String
  /// What is not what it was.
  public let fields: [Field]
  /// The document's fields.
  public let stored: String
  let place: String

  public var description: String {
    let lines = fields.map { field in
      "\n  \(field.path): \(field.written) became \(field.read)"
        + (field.hint.map { "\n    \($0)" } ?? "")
    }
    return "\(type) came back changed by \(way), at \(place):\(lines.joined())\nStored: \(stored)"
  }
}
