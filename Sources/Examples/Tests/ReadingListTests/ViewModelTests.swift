import FirebaseFirestore
import HearthTesting
import ReadingList
import Testing

@MainActor @Suite struct ViewModelTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  @Test func `a book is shown, and changed`() async throws {
    let dune = database.firestore.document("books/dune")
    try await dune.setData(
      committing: Book(title: "Dune", numberOfPages: 412, author: "Frank Herbert"))
    let model = BookViewModel(db: database.firestore)
    await model.fetchBook(documentId: "dune")
    #expect(model.book.title == "Dune")
    #expect(model.errorMessage == nil)
    await model.update()
    #expect(try await dune.getDocument(as: Book.self).numberOfPages == 412)
  }

  @Test func `an error is a sentence that names the field`() async throws {
    try await database.firestore.document("books/bad").setData([
      "title": "Dune", "numberOfPages": "many", "author": "Frank Herbert",
    ])
    let model = BookViewModel(db: database.firestore)
    await model.fetchBook(documentId: "bad")
    #expect(model.errorMessage?.contains("numberOfPages") == true)
    await model.fetchBook(documentId: "none")
    #expect(model.errorMessage != nil)
  }

  @Test(.timeLimit(.minutes(1)))
  func `the colors follow the database while subscribed`() async throws {
    let model = ColorsViewModel(db: database.firestore)
    model.subscribe()
    model.newColor = ColorEntry(name: "teal", red: 0, green: 0.5, blue: 0.5)
    // Returns after the listener's callback.
    await model.addColorEntry()
    #expect(model.colorEntries.map(\.name) == ["teal"])
    try await database.firestore.document("colors/bad").setData(["name": 1])
    #expect(model.colorEntries.map(\.name) == ["teal"])
    model.unsubscribe()
    model.newColor = ColorEntry(name: "red", red: 1, green: 0, blue: 0)
    await model.addColorEntry()
    #expect(model.colorEntries.map(\.name) == ["teal"])
  }
}
