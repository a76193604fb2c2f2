import FirebaseFirestore
import HearthMacros
import HearthService

@Document
struct Book: Codable {
  @DocumentID var id: String?
  var title: String
  var pages = 0
}

@main
struct TypedService {
  static func main() async throws {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let db = try Firestore.open(at: "typed.hearth", settings: settings)
    let books = db.collection("books", of: Book.self)
    try await books.document("dune").set(Book(title: "Dune", pages: 412))
    for book in try await books.where({ $0.pages > 400 }).getDocuments() { print(book.title) }
    try await db.terminate()
  }
}
