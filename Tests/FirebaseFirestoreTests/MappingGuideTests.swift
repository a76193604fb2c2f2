import FirebaseFirestore
import Foundation
import TestSupport
import Testing

/// Every code sample of Firebase's guide "Map Cloud Firestore data with Swift Codable", as it stands
/// there, compiled against this library and run.
///
/// Edits: names of SwiftUI, Combine and Core Location come from `SwiftUIShim.swift`; functions that the
/// guide shows alone stand in a class with the properties they use; `#warning` is left out, for it
/// would warn at every build; the JSON that the guide fetches from the network is given; and the colour
/// listener's `if let`, because `data(as:)` returns `T` today and not `T?`.
@Suite(.serialized) @MainActor struct MappingGuideTests {
  private let db: Firestore

  init() async throws {
    _ = GuideFolder.path
    db = Firestore.firestore()
  }

  // MARK: Mapping by hand

  struct ManualBook: Equatable {
    var id: String
    var title: String
    var numberOfPages: Int
    var author: String
  }

  final class ManualMapping: ObservableObject {
    typealias Book = ManualBook
    @Published var book: Book?
    @Published var errorMessage: String?
    private var db = Firestore.firestore()

    func fetchBook(documentId: String) {
      let docRef = db.collection("books").document(documentId)

      docRef.getDocument { document, error in
        MainActor.assertIsolated()
        if let error = error as NSError? {
          self.errorMessage = "Error getting document: \(error.localizedDescription)"
        } else {
          if let document = document {
            let id = document.documentID
            let data = document.data()
            let title = data?["title"] as? String ?? ""
            let numberOfPages = data?["numberOfPages"] as? Int ?? 0
            let author = data?["author"] as? String ?? ""
            self.book = Book(id: id, title: title, numberOfPages: numberOfPages, author: author)
          }
        }
      }
    }
  }

  @Test func `a document is mapped by hand`() async throws {
    try await db.document("books/hitchhiker").setData([
      "title": "The Hitchhiker's Guide to the Galaxy", "numberOfPages": 816,
      "author": "Douglas Adams",
    ])
    let model = ManualMapping()
    model.fetchBook(documentId: "hitchhiker")
    try await eventually { model.book != nil || model.errorMessage != nil }
    #expect(model.errorMessage == nil)
    #expect(
      model.book
        == ManualBook(
          id: "hitchhiker", title: "The Hitchhiker's Guide to the Galaxy", numberOfPages: 816,
          author: "Douglas Adams"))
  }

  // MARK: What is Codable?

  enum Plain {
    struct Book: Codable {
      var title: String
      var numberOfPages: Int
      var author: String
    }
  }

  @Test func `the plain book goes to JSON and comes back`() throws {
    typealias Book = Plain.Book
    var encoded: Data?
    do {
      let book = Book(
        title: "The Hitchhiker's Guide to the Galaxy",
        numberOfPages: 816,
        author: "Douglas Adams")
      let encoder = JSONEncoder()
      let data = try encoder.encode(book)
      encoded = data
    } catch {
      print("Error when trying to encode book: \(error)")
    }

    let decoder = JSONDecoder()
    let data = try #require(encoded)
    let decodedBook = try decoder.decode(Book.self, from: data)
    #expect(decodedBook.numberOfPages == 816)
  }

  // MARK: Simple types

  struct Book: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var numberOfPages: Int
    var author: String
  }

  final class SimpleMapping: ObservableObject {
    @Published var book: Book?
    @Published var errorMessage: String?
    private var db = Firestore.firestore()

    func fetchBook(documentId: String) {
      let docRef = db.collection("books").document(documentId)

      docRef.getDocument { document, error in
        if let error = error as NSError? {
          self.errorMessage = "Error getting document: \(error.localizedDescription)"
        } else {
          if let document = document {
            do {
              self.book = try document.data(as: Book.self)
            } catch {
              print(error)
            }
          }
        }
      }
    }

    func updateBook(book: Book) {
      if let id = book.id {
        let docRef = db.collection("books").document(id)
        do {
          try docRef.setData(from: book)
        } catch {
          print(error)
        }
      }
    }

    var newDocReference: DocumentReference?

    func addBook(book: Book) {
      let collectionRef = db.collection("books")
      do {
        let newDocReference = try collectionRef.addDocument(from: self.book)
        print("Book stored with new document reference: \(newDocReference)")
        self.newDocReference = newDocReference
      } catch {
        print(error)
      }
    }
  }

  final class ResultMapping: ObservableObject {
    @Published var book: Book?
    @Published var errorMessage: String?
    private var db = Firestore.firestore()

    fileprivate func fetchBook(documentId: String) {
      let docRef = db.collection("books").document(documentId)

      docRef.getDocument(as: Book.self) { result in
        MainActor.assertIsolated()
        switch result {
        case .success(let book):
          // A Book value was successfully initialized from the DocumentSnapshot.
          self.book = book
          self.errorMessage = nil
        case .failure(let error):
          // A Book value could not be initialized from the DocumentSnapshot.
          self.errorMessage = "Error decoding document: \(error.localizedDescription)"
        }
      }
    }
  }

  @Test func `a book is updated, fetched in both ways, and added`() async throws {
    let book = Book(id: "dune", title: "Dune", numberOfPages: 412, author: "Frank Herbert")
    let model = SimpleMapping()
    model.updateBook(book: book)
    model.fetchBook(documentId: "dune")
    try await eventually { model.book != nil }
    #expect(model.book == book)

    let other = ResultMapping()
    other.fetchBook(documentId: "dune")
    try await eventually { other.book != nil }
    #expect(other.book == book)
    other.fetchBook(documentId: "no-such-book")
    try await eventually { other.errorMessage != nil }

    model.addBook(book: book)
    let added = try #require(model.newDocReference)
    let copy = try await added.getDocument(as: Book.self)
    #expect(copy.id == added.documentID)
    #expect(copy.title == "Dune")
    #expect(try await added.getDocument().data()?["id"] == nil)
  }

  // MARK: Nested types

  struct CoverImages: Codable, Equatable {
    var small: URL
    var medium: URL
    var large: URL
  }

  struct BookWithCoverImages: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var numberOfPages: Int
    var author: String
    var cover: CoverImages?
  }

  public struct BookWithGenre: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var numberOfPages: Int
    var author: String
    var genres: [String]
  }

  struct Tag: Codable, Hashable {
    var title: String
    var color: String
  }

  struct BookWithTags: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var numberOfPages: Int
    var author: String
    var tags: [Tag]
  }

  @Test func `covers of URLs, genres and tags make the round trip`() async throws {
    let cover = CoverImages(
      small: try #require(URL(string: "https://books.example/s.png")),
      medium: try #require(URL(string: "https://books.example/m.png")),
      large: try #require(URL(string: "https://books.example/l.png")))
    try await expectRoundTrip(
      BookWithCoverImages(
        id: "x", title: "Dune", numberOfPages: 412, author: "Frank Herbert", cover: cover))
    try await expectRoundTrip(
      BookWithCoverImages(id: "x", title: "Dune", numberOfPages: 412, author: "F", cover: nil))
    try await expectRoundTrip(
      BookWithGenre(
        id: "x", title: "Guide", numberOfPages: 816, author: "D", genres: ["Sci-Fi", "Comedy"]))
    try await expectRoundTrip(
      BookWithTags(
        id: "x", title: "Guide", numberOfPages: 816, author: "D",
        tags: [Tag(title: "towel", color: "#FFFFFF"), Tag(title: "tea", color: "#AA7733")]))
    let stored = try await db.document("round/x").getDocument()
    #expect(((stored["tags"] as? [[String: Any]])?.first)?["title"] as? String == "towel")
  }

  // MARK: Dates, points, enumerations

  struct ProgrammingLanguage: Codable, Equatable {
    @DocumentID var id: String?
    var name: String
    var year: Date
  }

  struct Office: Codable, Equatable {
    @DocumentID var id: String?
    var name: String
    var location: GeoPoint
  }

  enum Status: String, Codable {
    case draft
    case inReview
    case approved
    case published
  }

  enum Renamed {
    enum Status: String, Codable {
      case draft
      case inReview = "in review"
      case approved
      case published
    }
  }

  struct Article: Codable, Equatable {
    var status: Status
    var renamed: Renamed.Status
  }

  @Test func `dates, offices and statuses make the round trip`() async throws {
    let year = Date(timeIntervalSince1970: -4_007_750_400)
    try await expectRoundTrip(ProgrammingLanguage(id: "x", name: "Ada", year: year))
    #expect(try await db.document("round/x").getDocument()["year"] is Timestamp)

    let office = Office(
      id: "x", name: "Hamburg", location: GeoPoint(latitude: 53.5, longitude: 9.9))
    try await expectRoundTrip(office)
    let coordinate = CLLocationCoordinate2D(
      latitude: office.location.latitude,
      longitude: office.location.longitude)
    #expect(coordinate.latitude == 53.5 && coordinate.longitude == 9.9)

    try await expectRoundTrip(Article(status: .inReview, renamed: .inReview))
    let stored = try await db.document("round/x").getDocument()
    #expect(stored["status"] as? String == "inReview")
    #expect(stored["renamed"] as? String == "in review")
  }

  // MARK: Names of one's own

  enum WithKeys {
    struct ProgrammingLanguage: Codable, Equatable {
      @DocumentID var id: String?
      var name: String
      var year: Date

      enum CodingKeys: String, CodingKey {
        case id
        case name = "language_name"
        case year
      }
    }
  }

  enum WithoutReason {
    struct ProgrammingLanguage: Identifiable, Codable, Equatable {
      @DocumentID var id: String?
      var name: String
      var year: Date
      var reasonWhyILoveThis: String = ""

      enum CodingKeys: String, CodingKey {
        case id
        case name = "language_name"
        case year
      }
    }
  }

  struct Noted: Codable, Equatable {
    @DocumentID var id: String?
    @ServerTimestamp var createdAt: Timestamp?
    @ServerTimestamp var seenAt: Date?
    @ExplicitNull var note: String?
    var other: String?
  }

  @Test func `coding keys rename, and leave out`() async throws {
    let year = Date(timeIntervalSince1970: 0)
    try await expectRoundTrip(WithKeys.ProgrammingLanguage(id: "x", name: "Ada", year: year))
    #expect(try await db.document("round/x").getDocument()["language_name"] as? String == "Ada")

    var language = WithoutReason.ProgrammingLanguage(id: "x", name: "Ada", year: year)
    language.reasonWhyILoveThis = "it is strict"
    try db.document("round/x").setData(from: language)
    let stored = try await db.document("round/x").getDocument()
    #expect(stored["reasonWhyILoveThis"] == nil)
    #expect(try stored.data(as: WithoutReason.ProgrammingLanguage.self).reasonWhyILoveThis == "")
  }

  @Test func `server timestamps are filled in, explicit nulls are stored`() async throws {
    let before = Date()
    try db.document("round/x").setData(from: Noted())
    let stored = try await db.document("round/x").getDocument()
    let noted = try stored.data(as: Noted.self)
    #expect(noted.id == "x")
    #expect(try #require(noted.seenAt) >= before.addingTimeInterval(-1))
    #expect(noted.createdAt?.dateValue() == noted.seenAt)
    #expect(stored["note"] is NSNull)
    #expect(stored.data()?.keys.contains("other") == false)
    try await expectRoundTrip(noted)
  }

  // MARK: Colours

  @Test func `colours are stored as text`() async throws {
    let green = Color(hex: "#00FF0080")
    try await expectRoundTrip(ColorEntry(id: "x", name: "green", color: green))
    #expect(try await db.document("round/x").getDocument()["color"] as? String == "#00FF0080")
    try await expectRoundTrip(
      Coloured.BookWithTags(
        id: "x", title: "Guide", numberOfPages: 816, author: "D",
        tags: [Coloured.Tag(title: "towel", color: green)]))
  }

  // MARK: Errors, and live updates

  @Test func `a missing and an invalid document are told apart`() async throws {
    try await db.document("books/hitchhiker").setData([
      "title": "Guide", "numberOfPages": 816, "author": "Douglas Adams",
    ])
    try await db.document("books/invalid-data").setData([
      "title": "Guide", "numberOfPages": "many", "author": "Douglas Adams",
    ])
    try await db.document("books/does-not-exist").delete()
    let model = MappingSimpleTypesViewModel()
    model.fetchAndMap()
    try await eventually { model.book.title == "Guide" }
    #expect(model.errorMessage == nil)
    model.fetchAndMapNonExisting()
    try await eventually { model.errorMessage != nil }
    #expect(model.errorMessage?.contains("null value") == true)
    model.errorMessage = nil
    model.fetchAndTryMappingInvalidData()
    try await eventually { model.errorMessage != nil }
    #expect(model.errorMessage?.contains("Expected to decode Int but found") == true)
  }

  @Test func `the colour listener follows the collection, and stops`() async throws {
    for document in try await db.collection("colors").getDocuments().documents {
      try await document.reference.delete()
    }
    let model = MappingColorsViewModel()
    model.subscribe()
    model.newColor = ColorEntry(name: "green", color: Color(hex: "#00FF00FF"))
    model.addColorEntry()
    try await eventually { model.colorEntries.count == 1 }
    #expect(model.colorEntries.first?.name == "green")
    // Last in the order, for the guide forgets an error when a later document is right.
    try await db.document("colors/~odd").setData(["name": 7])
    try await eventually { model.errorMessage != nil }
    #expect(model.colorEntries.map(\.name) == ["green"])
    model.unsubscribe()
    let other = MappingColorsViewModel()
    other.subscribe()
    try await db.document("colors/red").setData(["name": "red", "color": "#FF0000FF"])
    try await eventually { other.colorEntries.count == 2 }
    other.unsubscribe()
    #expect(model.colorEntries.count == 1)
  }

  // MARK: Helpers

  private func expectRoundTrip<Model: Codable & Equatable>(
    _ model: Model, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let reference = db.document("round/x")
    try reference.setData(from: model)
    let read = try await reference.getDocument(as: Model.self)
    #expect(read == model, sourceLocation: sourceLocation)
    let snapshot = try await reference.getDocument()
    #expect(try snapshot.data(as: Model.self) == model, sourceLocation: sourceLocation)
  }
}

/// Where the default database of these tests is.
enum GuideFolder {
  static let path: String = {
    let path = NSTemporaryDirectory() + "/hearth-guide-\(UUID().uuidString)"
    setenv("HEARTH_HOME", path, 1)
    atexit { try? FileManager.default.removeItem(atPath: GuideFolder.path) }
    return path
  }()
}

// MARK: - Colours

extension Color {

  init(hex: String) {
    let rgba = hex.toRGBA()

    self.init(
      .sRGB,
      red: Double(rgba.r),
      green: Double(rgba.g),
      blue: Double(rgba.b),
      opacity: Double(rgba.alpha))
  }

}

extension Color: Codable {

  public init(from decoder: Decoder) throws {
    let container = try decoder.singleValueContainer()
    let hex = try container.decode(String.self)

    self.init(hex: hex)
  }

  public func encode(to encoder: Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(toHex)
  }

}

enum Coloured {
  struct Tag: Codable, Hashable {
    var title: String
    var color: Color
  }

  struct BookWithTags: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var numberOfPages: Int
    var author: String
    var tags: [Tag]
  }
}

struct ColorEntry: Codable, Equatable {
  @DocumentID var id: String?
  var name: String
  var color: Color

  static var empty: ColorEntry { ColorEntry(name: "", color: Color(hex: "#00000000")) }
}

extension MappingGuideTests.Book {
  static var empty: Self { Self(title: "", numberOfPages: 0, author: "") }
}

// MARK: - Error handling

class MappingSimpleTypesViewModel: ObservableObject {
  typealias Book = MappingGuideTests.Book
  @Published var book: Book = .empty
  @Published var errorMessage: String?

  private var db = Firestore.firestore()

  func fetchAndMap() {
    fetchBook(documentId: "hitchhiker")
  }

  func fetchAndMapNonExisting() {
    fetchBook(documentId: "does-not-exist")
  }

  func fetchAndTryMappingInvalidData() {
    fetchBook(documentId: "invalid-data")
  }

  private func fetchBook(documentId: String) {
    let docRef = db.collection("books").document(documentId)

    docRef.getDocument(as: Book.self) { result in
      switch result {
      case .success(let book):
        // A Book value was successfully initialized from the DocumentSnapshot.
        self.book = book
        self.errorMessage = nil
      case .failure(let error):
        // A Book value could not be initialized from the DocumentSnapshot.
        switch error {
        case DecodingError.typeMismatch(_, let context):
          self.errorMessage = "\(error.localizedDescription): \(context.debugDescription)"
        case DecodingError.valueNotFound(_, let context):
          self.errorMessage = "\(error.localizedDescription): \(context.debugDescription)"
        case DecodingError.keyNotFound(_, let context):
          self.errorMessage = "\(error.localizedDescription): \(context.debugDescription)"
        case DecodingError.dataCorrupted(let key):
          self.errorMessage = "\(error.localizedDescription): \(key)"
        default:
          self.errorMessage = "Error decoding document: \(error.localizedDescription)"
        }
      }
    }
  }
}

// MARK: - Error handling in live updates

class MappingColorsViewModel: ObservableObject {
  @Published var colorEntries = [ColorEntry]()
  @Published var newColor = ColorEntry.empty
  @Published var errorMessage: String?

  private var db = Firestore.firestore()
  private var listenerRegistration: ListenerRegistration?

  public func unsubscribe() {
    if listenerRegistration != nil {
      listenerRegistration?.remove()
      listenerRegistration = nil
    }
  }

  func subscribe() {
    if listenerRegistration == nil {
      listenerRegistration = db.collection("colors")
        .addSnapshotListener { [weak self] (querySnapshot, error) in
          guard let documents = querySnapshot?.documents else {
            self?.errorMessage = "No documents in 'colors' collection"
            return
          }

          self?.colorEntries = documents.compactMap { queryDocumentSnapshot in
            let result = Result { try queryDocumentSnapshot.data(as: ColorEntry.self) }

            switch result {
            case .success(let colorEntry):
              // A ColorEntry value was successfully initialized from the DocumentSnapshot.
              self?.errorMessage = nil
              return colorEntry
            case .failure(let error):
              // A ColorEntry value could not be initialized from the DocumentSnapshot.
              switch error {
              case DecodingError.typeMismatch(_, let context):
                self?.errorMessage = "\(error.localizedDescription): \(context.debugDescription)"
              case DecodingError.valueNotFound(_, let context):
                self?.errorMessage = "\(error.localizedDescription): \(context.debugDescription)"
              case DecodingError.keyNotFound(_, let context):
                self?.errorMessage = "\(error.localizedDescription): \(context.debugDescription)"
              case DecodingError.dataCorrupted(let key):
                self?.errorMessage = "\(error.localizedDescription): \(key)"
              default:
                self?.errorMessage = "Error decoding document: \(error.localizedDescription)"
              }
              return nil
            }
          }
        }
    }
  }

  func addColorEntry() {
    let collectionRef = db.collection("colors")
    do {
      let newDocReference = try collectionRef.addDocument(from: newColor)
      print("ColorEntry stored with new document reference: \(newDocReference)")
    } catch {
      print(error)
    }
  }
}
