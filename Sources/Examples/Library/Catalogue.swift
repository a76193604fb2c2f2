import ParseSwift

/// A library's books with their authors and genres.
public struct Catalogue: Sendable {
  public init() {}

  /// The genre with a name; saved first if there is none.
  public func genre(named name: String) async throws -> Genre {
    if let genre = try? await Genre.query("name" == name).first() { return genre }
    var genre = Genre()
    genre.name = name
    return try await genre.save()
  }

  /// The author with a name; saved first if there is none.
  public func author(named name: String) async throws -> Author {
    if let author = try? await Author.query("name" == name).first() { return author }
    var author = Author()
    author.name = name
    return try await author.save()
  }

  /// Saves a book, its ISBN, and its relations.
  public func add(
    title: String, year: Int, isbn: String, authors: [Author], genres: [Genre]
  ) async throws -> Book {
    var book = Book()
    book.title = title
    book.publishingYear = year
    book.isbn = ISBN()
    book.isbn?.value = isbn
    let saved = try await book.save()
    guard let relation = saved.relation else { return saved }
    _ = try await relation.add("authors", objects: authors).save()
    _ = try await relation.add("genres", objects: genres).save()
    return saved
  }

  /// All books by title, each with its ISBN.
  public func books() async throws -> [Book] {
    try await Book.query().include("isbn").order([.ascending("title")]).find()
  }

  public func authors(of book: Book) async throws -> [Author] {
    try await Author.queryRelations("authors", parent: book).order([.ascending("name")]).find()
  }

  public func books(in genre: Genre) async throws -> [Book] {
    try await Book.query(related(key: "genres", of: Book.self, to: genre)).find()
  }
}
