import HearthTesting
import Library
import ParseSwift
import Testing

@Suite(.serialized) struct CatalogueTests {
  @Test func `relations are the same after a restart`() async throws {
    let database = try TemporaryDatabase()
    ParseSwift.initialize(database.firestore)
    let catalogue = Catalogue()
    let fiction = try await catalogue.genre(named: "science fiction")
    #expect(try await catalogue.genre(named: "science fiction").objectId == fiction.objectId)
    let herbert = try await catalogue.author(named: "Frank Herbert")
    let dune = try await catalogue.add(
      title: "Dune", year: 1965, isbn: "978-0441013593", authors: [herbert], genres: [fiction])
    _ = try await catalogue.add(
      title: "Emma", year: 1815, isbn: "978-0141439587",
      authors: [catalogue.author(named: "Jane Austen")], genres: [])

    try await database.reopen()
    ParseSwift.initialize(database.firestore)
    #expect(try await catalogue.books().map(\.isbn?.value) == ["978-0441013593", "978-0141439587"])
    #expect(try await catalogue.authors(of: dune).map(\.name) == ["Frank Herbert"])
    #expect(try await catalogue.books(in: fiction).map(\.title) == ["Dune"])
  }
}
