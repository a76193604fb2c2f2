import FirebaseFirestore

struct Book: Codable {
  @DocumentID var id: String?
  var title: String
  var pages: Int
}

func run() async throws {
  let db = try Firestore.open(at: "books.hearth")
  let books = db.collection("books")

  // Receives the books, and then every change that any process commits.
  let listener = books.addSnapshotListener { snapshot, _ in
    for change in snapshot?.documentChanges ?? [] {
      print(change.type, change.document.documentID)
    }
  }

  let dune = books.document("dune")
  try await dune.setData(committing: Book(title: "Dune", pages: 412))
  try await dune.updateData(["pages": FieldValue.increment(6), "tags": ["sand", "spice"]])
  let book = try await dune.getDocument(as: Book.self)
  print(book.id ?? "", book.title, book.pages)  // dune Dune 418

  listener.remove()
  try await db.terminate()
}

try await run()
