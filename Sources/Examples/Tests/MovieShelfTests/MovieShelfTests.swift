import HearthTesting
import MovieShelf
import Movies
import Testing

@Suite struct MovieShelfTests {
  @Test(.timeLimit(.minutes(1)))
  func `a subscription follows a movie from genre to genre`() async throws {
    let database = try TemporaryDatabase()
    let shelf = MovieShelf(connector: MoviesConnector(firestore: database.firestore))
    let key = try await shelf.add(title: "Dune", year: 1984, genre: "Drama", rating: 3)
    var genres = try await shelf.genres(of: key).makeAsyncIterator()
    #expect(await genres.next() == "Drama")
    try await shelf.move(key, to: "Sci-Fi", description: "A desert planet.")
    #expect(await genres.next() == "Sci-Fi")
    #expect(try await shelf.titles(genre: "Sci-Fi") == ["Dune"])
    #expect(try await shelf.titles(genre: "Drama").isEmpty)

    try await database.reopen()
    let reopened = MovieShelf(connector: MoviesConnector(firestore: database.firestore))
    #expect(try await reopened.titles(genre: "Sci-Fi") == ["Dune"])
  }
}
