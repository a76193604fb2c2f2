import Hearth
import Workloads

/// Reading with a type that is coded without `Codable`.
extension HearthEngine {
  static let directName = "Hearth, direct"

  func getDirectly(_ id: String) async throws -> DirectBook {
    try await books.document(id).getDocument(as: DirectBook.self)
  }

  /// On the caller's thread.
  func readDirectly(_ id: String) throws -> DirectBook {
    let document = books.document(id)
    return try database.read { try $0.getDocument(document, as: DirectBook.self) }
  }

  func booksDirectly(by author: String) async throws -> [DirectBook] {
    try await books.whereField("author", isEqualTo: author).getDocuments(as: DirectBook.self)
  }

  func bestRatedDirectly(_ count: Int) async throws -> [DirectBook] {
    try await books.order(by: "rating", descending: true).limit(to: count)
      .getDocuments(as: DirectBook.self)
  }

  func scanDirectly(_ body: (DirectBook) -> Void) async throws {
    for book in try await books.getDocuments(as: DirectBook.self) { body(book) }
  }
}
