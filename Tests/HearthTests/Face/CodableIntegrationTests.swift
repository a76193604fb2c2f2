import Foundation
import HearthTesting
import Testing

@testable import Hearth
@testable import HearthEngine

/// What Firebase's integration tests of its coder promise, through references, batches and transactions.
@Suite struct CodableIntegrationTests {
  enum Way: CaseIterable { case reference, waiting, batch, transaction }

  enum Merge {
    case none, all
    case fields([Any])
  }

  private func write(
    _ value: some Encodable & Sendable, to document: DocumentReference, _ way: Way,
    _ merge: Merge = .none
  ) async throws {
    switch way {
    case .reference:
      switch merge {
      case .none: try document.setData(from: value)
      case .all: try document.setData(from: value, merge: true)
      case .fields(let fields): try document.setData(from: value, mergeFields: fields)
      }
    case .waiting:
      switch merge {
      case .none: try await document.setData(committing: value)
      case .all: try await document.setData(committing: value, merge: true)
      case .fields(let fields): try await document.setData(committing: value, mergeFields: fields)
      }
    case .batch:
      let batch = document.firestore.batch()
      switch merge {
      case .none: try batch.setData(from: value, forDocument: document)
      case .all: try batch.setData(from: value, forDocument: document, merge: true)
      case .fields(let fields):
        try batch.setData(from: value, forDocument: document, mergeFields: fields)
      }
      try await batch.commit()
    case .transaction:
      nonisolated(unsafe) let merge = merge
      _ = try await document.firestore.runTransaction { transaction, errorPointer in
        do {
          switch merge {
          case .none: try transaction.setData(from: value, forDocument: document)
          case .all: try transaction.setData(from: value, forDocument: document, merge: true)
          case .fields(let fields):
            try transaction.setData(from: value, forDocument: document, mergeFields: fields)
          }
        } catch {
          errorPointer?.pointee = error as NSError
        }
        return nil
      }
    }
  }

  @Test(arguments: Way.allCases)
  func `Firestore's values come back as they were`(way: Way) async throws {
    struct Model: Codable, Equatable {
      var name: String
      var age: Int32
      var time: Timestamp
      var point: GeoPoint
      var reference: DocumentReference
      var vector: VectorValue
      var data: Data
      var empty: Data
    }
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    let model = Model(
      name: "test", age: 42, time: Timestamp(seconds: 987_654_321, nanoseconds: 0),
      point: GeoPoint(latitude: 45, longitude: 54), reference: document,
      vector: FieldValue.vector([0.7, 0.6]), data: Data([1, 2, 3, 4]), empty: Data())
    try await write(Sent(model), to: document, way)
    #expect(try await document.getDocument(as: Model.self) == model)
    let snapshot = try await document.getDocument()
    #expect(try snapshot.data(as: Model.self) == model)
    #expect(snapshot["vector"] as? VectorValue == model.vector)
    #expect(snapshot["data"] as? Data == model.data)
  }

  /// Values of Firestore's classes, handed over and used no more.
  private struct Sent<Value: Encodable>: Encodable, @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
  }

  @Test(arguments: Way.allCases)
  func `a server timestamp is there after the write, whatever is asked for`(way: Way) async throws {
    struct Model: Codable, Equatable, Sendable {
      var name: String
      @ServerTimestamp var at: Date?
    }
    let clock = FixedClock()
    let database = try TemporaryDatabase(clock: clock)
    let document = database.firestore.document("a/b")
    try await write(Model(name: "test", at: nil), to: document, way)
    let snapshot = try await document.getDocument()
    for behavior in [ServerTimestampBehavior.none, .estimate, .previous] {
      let read = try snapshot.data(as: Model.self, with: behavior)
      #expect(read.at == clock.now.dateValue())
      #expect(try await document.getDocument(as: Model.self, with: behavior) == read)
    }
  }

  @Test(arguments: Way.allCases)
  func `sentinels in a model are done`(way: Way) async throws {
    struct Change: Encodable {
      var name = "test"
      var list = FieldValue.arrayUnion(["b"])
      var count = FieldValue.increment(Int64(5))
    }
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(["list": ["a"], "count": 1, "kept": true])
    try await write(Sent(Change()), to: document, way, .all)
    let snapshot = try await document.getDocument()
    #expect(snapshot["list"] as? [String] == ["a", "b"])
    #expect(snapshot["count"] as? Int == 6)
    #expect(snapshot["kept"] as? Bool == true)
  }

  @Test(arguments: Way.allCases)
  func `an explicit null is a field, another nil is none`(way: Way) async throws {
    struct Model: Codable, Equatable, Sendable {
      var name: String
      @ExplicitNull var explicit: String?
      var optional: String?
    }
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    let model = Model(name: "name", explicit: nil, optional: nil)
    try await write(model, to: document, way)
    let fields = try #require(await document.getDocument().data())
    #expect(fields.keys.sorted() == ["explicit", "name"])
    #expect(fields["explicit"] is NSNull)
    #expect(try await document.getDocument(as: Model.self) == model)
  }

  @Test(arguments: Way.allCases)
  func `a merge leaves alone what is nil, and other than the fields it names`(way: Way) async throws
  {
    struct Model: Codable, Equatable, Sendable {
      var name: String?
      var age: Int32?
      var hobby: String?
    }
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    try await write(Model(name: "test", age: 42), to: document, way)
    try await write(Model(name: "test", hobby: "No"), to: document, way, .all)
    #expect(
      try await document.getDocument(as: Model.self) == Model(name: "test", age: 42, hobby: "No"))
    let model = Model(name: "ignored", age: 43, hobby: "Yes")
    try await write(model, to: document, way, .fields(["hobby", FieldPath(["age"])]))
    #expect(
      try await document.getDocument(as: Model.self) == Model(name: "test", age: 43, hobby: "Yes"))
  }

  @Test func `an id is read, asked for by hand too, and never written`() async throws {
    struct Model: Codable, Equatable {
      var name: String
      @DocumentID var ref: DocumentReference?
    }
    struct ByHand: Codable, Equatable {
      var name: String
      @DocumentID var ref: DocumentReference?
      enum CodingKeys: String, CodingKey { case name, ref }
      init(name: String, ref: DocumentReference?) {
        self.name = name
        self.ref = ref
      }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        _ref = try container.decode(DocumentID<DocumentReference>.self, forKey: .ref)
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
      }
    }
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    try await document.setData(committing: Model(name: "name", ref: nil))
    #expect(try await document.getDocument().data()?.keys.sorted() == ["name"])
    #expect(
      try await document.getDocument(as: Model.self) == Model(name: "name", ref: document))
    #expect(
      try await document.getDocument(as: ByHand.self) == ByHand(name: "name", ref: document))
  }

  @Test func `a model is added, with waiting and without`() async throws {
    let database = try TemporaryDatabase()
    let books = database.firestore.collection("books")
    let first = try books.addDocument(from: CodableBook.guide)
    let second = try await books.addDocument(committing: CodableBook.guide)
    #expect(first.documentID != second.documentID)
    for document in [first, second] {
      #expect(try await document.getDocument(as: CodableBook.self) == CodableBook.guide)
    }
  }

  @Test func `the forms that wait throw what keeps a model from being stored`() async throws {
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    await #expect(throws: EncodingError.self) { try await document.setData(committing: [1]) }
    await #expect(throws: NSError.self) { try await document.setData(committing: ["a": [[1]]]) }
    do {
      try await document.setData(committing: ["a": Date(timeIntervalSince1970: .infinity)])
      Issue.record("Nothing was refused.")
    } catch FirestoreErrorCode.invalidArgument {}
    do {
      try await database.firestore.document("a").setData(committing: ["a": 1])
      Issue.record("Nothing was refused.")
    } catch FirestoreErrorCode.invalidArgument {}
    do {
      try await document.setData(committing: ["a": 1], mergeFields: ["b"])
      Issue.record("Nothing was refused.")
    } catch FirestoreErrorCode.invalidArgument {}
    #expect(try await !document.getDocument().exists)
  }

  @Test func `a missing document is nil for an optional, and else a missing value`() async throws {
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    #expect(try await document.getDocument(as: CodableBook?.self) == nil)
    let error = await #expect(throws: DecodingError.self) {
      try await document.getDocument(as: CodableBook.self)
    }
    let told =
      "Cannot get keyed decoding container -- found null value instead. "
      + "The document a/b does not exist."
    #expect(sentence(error) == told)
    guard case .valueNotFound? = error else { throw CancellationError() }
    try await database.firestore.read { snapshot in
      let error = #expect(throws: DecodingError.self) {
        try snapshot.getDocument(document, as: CodableBook.self)
      }
      #expect(sentence(error) == told)
      let perhaps = try snapshot.getDocument(document, as: CodableBook?.self)
      #expect(perhaps == nil)
    }
    let snapshot = try await document.getDocument()
    #expect(try snapshot.data(as: CodableBook?.self) == nil)
    let other = #expect(throws: DecodingError.self) { try snapshot.data(as: CodableBook.self) }
    #expect(sentence(other) == told)
  }

  @Test func `a decimal that is no number is refused, unless the encoder says how`() async throws {
    struct Price: Codable { var amount: Decimal }
    let database = try TemporaryDatabase()
    let document = database.firestore.document("a/b")
    for decimal in [Decimal.nan, NSDecimalNumber.notANumber] as [Any] {
      let error = await #expect(throws: NSError.self) {
        try await document.setData(["price": ["amount": decimal]])
      }
      #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
      #expect(
        error?.localizedDescription
          == "Unsupported value: Decimal.nan. Use Double.nan (found in field price.amount)")
    }
    let price = ["list": [Price(amount: .nan)]]
    let error = #expect(throws: EncodingError.self) { try setOnly(price, document) }
    guard case .invalidValue(_, let context)? = error else { throw CancellationError() }
    #expect(context.debugDescription.hasPrefix("Unable to encode Decimal.nan directly."))
    #expect(context.codingPath.map(\.stringValue) == ["list", "Index 0", "amount"])
    await #expect(throws: EncodingError.self) { try await document.setData(committing: price) }
    // In a dictionary it may be; only storing refuses it.
    let dictionary = try Firestore.Encoder().encode(Price(amount: .nan))
    #expect((dictionary["amount"] as? NSDecimalNumber)?.decimalValue.isNaN == true)
    await #expect(throws: NSError.self) { try await document.setData(dictionary) }
    #expect(try await !document.getDocument().exists)

    let (encoder, decoder) = (Firestore.Encoder(), Firestore.Decoder())
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "+", negativeInfinity: "-", nan: "?")
    try await document.setData(committing: Price(amount: .nan), encoder: encoder)
    #expect(try await document.getDocument()["amount"] as? String == "?")
    #expect(try await document.getDocument(as: Price.self, decoder: decoder).amount.isNaN)
  }

  private func setOnly(_ value: some Encodable, _ document: DocumentReference) throws {
    try document.setData(from: value)
  }
}
