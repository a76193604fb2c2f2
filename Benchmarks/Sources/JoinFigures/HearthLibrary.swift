import Foundation
import Hearth

struct Author: Codable {
  var name: String
  var country: String
  var born: Int
}

struct Book: Codable, Sendable {
  var title: String
  var summary: String
  var isbn: String
  var genre: String
  var pages: Int
  var year: Int
  var author: DocumentReference
  var position: GeoPoint
}

struct Review: Codable {
  var book: DocumentReference
  var stars: Int
  var month: Int
  var text: String
}

/// Hearth's side: full durability, the change log on, declared indexes.
struct HearthLibrary {
  let library: Library
  let db: Firestore
  let authors: CollectionReference
  let books: CollectionReference
  let reviews: CollectionReference

  static let indexes = [
    FirestoreIndex("books", .ascending("title")),
    // An index has only documents with all of its fields: the one with the title does not serve groups.
    FirestoreIndex("books", .ascending("author")),
    FirestoreIndex("books", .ascending("author"), .ascending("title")),
    FirestoreIndex("books", .ascending("genre"), .ascending("pages")),
    FirestoreIndex(unique: "books", .ascending("isbn")),
    FirestoreIndex("reviews", .ascending("book"), .descending("stars")),
    FirestoreIndex("reviews", .ascending("month"), .ascending("stars"), .ascending("book")),
  ]

  static let rules = [
    FirestoreReferenceRule("books", field: "author", to: "authors", onDelete: .restrict),
    FirestoreReferenceRule("reviews", field: "book", to: "books", onDelete: .cascade),
  ]

  init(_ library: Library, path: String) async throws {
    self.library = library
    let settings = FirestoreSettings()
    settings.indexPolicy = .declared
    db = try Firestore.open(at: path, settings: settings)
    authors = db.collection("authors")
    books = db.collection("books")
    reviews = db.collection("reviews")
  }

  func load() async throws {
    try await load(library.authors) {
      authors.document(ID.author($0))
    } from: {
      author($0)
    }
    try await load(library.books) {
      books.document(ID.book($0))
    } from: {
      book($0)
    }
    try await load(library.reviews) {
      reviews.document(ID.review($0))
    } from: {
      review($0)
    }
    for index in Self.indexes { try await db.indexes.declare(index) }
    try await db.references.declare(Self.rules)
    try await db.indexes.waitUntilReady()
  }

  private func load<Model: Encodable>(
    _ count: Int, into document: (Int) -> DocumentReference, from model: (Int) -> Model
  ) async throws {
    for start in stride(from: 0, to: count, by: 2000) {
      let batch = db.batch()
      for index in start..<min(start + 2000, count) {
        try batch.setData(from: model(index), forDocument: document(index))
      }
      try await batch.commit()
    }
  }

  func author(_ index: Int) -> Author {
    let fields = library.author(index)
    return Author(name: fields.name, country: fields.country, born: fields.born)
  }

  func book(_ index: Int) -> Book {
    let fields = library.book(index)
    return Book(
      title: fields.title, summary: fields.summary, isbn: fields.isbn, genre: fields.genre,
      pages: fields.pages, year: fields.year, author: authors.document(ID.author(fields.author)),
      position: GeoPoint(latitude: fields.latitude, longitude: fields.longitude))
  }

  func review(_ index: Int) -> Review {
    let fields = library.review(index)
    return Review(
      book: books.document(ID.book(fields.book)), stars: fields.stars, month: fields.month,
      text: fields.text)
  }

  // MARK: Joins

  /// 20 books in order from a title on, each with its author.
  func page(from title: String) -> IncludingQuery {
    books.order(by: "title").start(at: [title]).limit(to: 20).including(.reference("author"))
  }

  func pageWithAuthors(from title: String) async throws -> Int {
    try Self.decoded(try await page(from: title).getDocuments()).reduce(0) {
      $0 + $1.0.pages + $1.1.born
    }
  }

  static func decoded(_ snapshot: IncludingSnapshot) throws -> [(Book, Author)] {
    try snapshot.documents.map { document in
      guard let author = document.first("author") else { throw Missing() }
      return (try document.data(as: Book.self), try author.data(as: Author.self))
    }
  }

  /// The first 20 books of an author.
  func books(of author: Int) async throws -> Int {
    try await books.whereField("author", isEqualTo: authors.document(ID.author(author)))
      .order(by: "title").limit(to: 20).getDocuments(as: Book.self).reduce(0) { $0 + $1.pages }
  }

  /// 20 books, each with its three best reviews.
  func pageWithReviews(from title: String) async throws -> Int {
    let best = reviews.order(by: "stars", descending: true).limit(to: 3)
    let page = books.order(by: "title").start(at: [title]).limit(to: 20)
      .including(.referring(best, by: "book", as: "reviews"))
    var sum = 0
    for document in try await page.getDocuments().documents {
      sum += try document.data(as: Book.self).pages
      for review in document.included("reviews") { sum += try review.data(as: Review.self).stars }
    }
    return sum
  }

  // MARK: Groups

  func totalsByGenre() async throws -> Int { try await totals(books) }

  func totalsByGenre(of author: Int) async throws -> Int {
    try await totals(books.whereField("author", isEqualTo: authors.document(ID.author(author))))
  }

  private func totals(_ query: Query) async throws -> Int {
    let pages = AggregateField.sum("pages")
    let groups = try await query.group(by: ["genre"], aggregating: [.count(), pages]).getGroups()
    return groups.reduce(0) { sum, group in
      guard group["genre"] is String, let pages = group.get(pages) as? NSNumber else { return sum }
      return sum + group.count * pages.intValue
    }
  }

  // MARK: Semi-joins

  private func praised(in month: Int) -> Query {
    let reviews = reviews.whereField("month", isEqualTo: month).whereField("stars", isEqualTo: 5)
    return books.whereFilter(.exists(in: reviews, referringBy: "book"))
  }

  /// The books with a review of five stars in the month.
  func praised(in month: Int) async throws -> Int {
    try await praised(in: month).getDocuments(as: Book.self).reduce(0) { $0 + $1.pages }
  }

  func praisedCount(in month: Int) async throws -> Int {
    try await praised(in: month).count.getAggregation(source: .server).count.intValue
  }

  /// The first 20 of them, by title.
  func praisedPage(in month: Int) async throws -> Int {
    try await praised(in: month).order(by: "title").limit(to: 20).getDocuments(as: Book.self)
      .reduce(0) { $0 + $1.pages }
  }

  // MARK: Writing

  func insert(_ book: Book, as id: String) async throws {
    try await books.document(id).setData(committing: book)
  }

  /// Whether a second book with the number of another is refused.
  func refusesDuplicate() async throws -> Bool {
    do {
      try await books.document("duplicate").setData(committing: book(0))
      return false
    } catch FirestoreErrorCode.alreadyExists {
      return true
    }
  }

  func rename(_ author: Int, to name: String) async throws {
    try await authors.document(ID.author(author)).updateData(["name": name])
  }
}

struct Missing: Error {}
