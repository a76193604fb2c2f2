import FirebaseFirestore

struct Book: Codable {
  @DocumentID var id: String?
  var title: String
}

@main
struct Embedder {
  static func main() async throws {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let db = try Firestore.open(at: "embedder.hearth", settings: settings)
    let dune = db.document("books/dune")
    try await dune.setData(committing: Book(title: "Dune"))
    print(try await dune.getDocument(as: Book.self).title)
    try await db.terminate()
  }
}
