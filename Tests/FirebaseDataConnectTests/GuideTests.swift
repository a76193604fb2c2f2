import FirebaseDataConnect
import Foundation
import Hearth
import HearthTesting
import Movies
import Synchronization
import TestSupport
import Testing

/// The snippets of the guide, in the order in which it shows them.
///
/// One after another: they share `DataConnect.moviesConnector`, and one chooses its database.
@Suite(.serialized) struct GuideTests {
  private let database: TemporaryDatabase
  private let output = Output()

  /// Catches what snippets print.
  private final class Output: Sendable {
    private let printed = Mutex<[String]>([])

    var lines: [String] { printed.withLock(\.self) }

    func add(_ line: String) { printed.withLock { $0.append(line) } }

    func wait(for line: String) async throws { try await eventually { lines.contains(line) } }
  }

  init() throws { database = try TemporaryDatabase() }

  /// `print`, as snippets write it.
  private func print(_ items: Any...) {
    output.add(items.map { "\($0)" }.joined(separator: " "))
  }

  /// `Firestore.open(at:)`, with its files beside the temporary database.
  private var Firestore: Opener {
    Opener(folder: URL(filePath: database.path).deletingLastPathComponent())
  }

  private struct Opener {
    let folder: URL

    func open(at name: String) throws -> Hearth.Firestore {
      try Hearth.Firestore.open(at: folder.appending(path: name))
    }
  }

  @Test func `the schema and the operations of the guide are those of the generated package`()
    throws
  {
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    func text(_ path: String) throws -> String {
      try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
    let pages = "Sources/FirebaseDataConnect/FirebaseDataConnect.docc"
    let movies = "Tests/Fixtures/DataConnect/movies"
    let schema = try text("\(movies)/schema/schema.gql")
    let operations = try text("\(movies)/connector/operations.gql")
    let blocks = try text("\(pages)/FirebaseDataConnect.md").components(
      separatedBy: "```graphql\n"
    ).dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
    #expect(blocks.count == 3)
    for definition in blocks.flatMap({ $0.components(separatedBy: "\n\n") }) {
      #expect(
        (schema + operations).contains(definition),
        "This definition is not in \(movies):\n\(definition)")
    }
  }

  @Test func `a movie is created, read, listed and followed`() async throws {
    try await DataConnect.withFirestore(database.firestore) {
      let connector = DataConnect.moviesConnector
      let mutationResult = try await connector.createMovieMutation.execute(
        title: "Empire Strikes Back",
        releaseYear: 1980,
        genre: "Sci-Fi",
        rating: 5)
      let key = mutationResult.data.movie_insert
      print("Movie ID: \(key.id)")

      let found = try await connector.getMovieByKeyQuery.execute(key: key)
      print(found.data.movie?.title ?? "There is no such movie.")

      let list = try await connector.listMoviesByGenreQuery.execute(genre: "Sci-Fi")
      for movie in list.data.movies { print(movie.title, movie.releaseYear ?? 0) }

      let reference = connector.getMovieByIdQuery.ref(id: key.id)
      try await reference.execute()
      print(reference.data?.movie?.genre ?? "There is no genre.")
      #expect(
        output.lines == [
          "Movie ID: \(key.id)", "Empire Strikes Back", "Empire Strikes Back 1980", "Sci-Fi",
        ])

      let subscription = try await reference.subscribe().sink { _ in }
      try await connector.updateMovieMutation.execute(
        id: key.id, genre: "Space opera", description: "The second of three.")
      try await eventually { reference.data?.movie?.genre == "Space opera" }
      subscription.cancel()

      let following = Task { try await follow(reference) }
      try await output.wait(for: "Space opera")
      try await connector.updateMovie.execute(id: key.id, genre: "Epic", description: "Snow.")
      try await output.wait(for: "Epic")
      following.cancel()
      try await following.value
    }
  }

  private func follow(_ reference: GetMovieByIdQuery.Ref) async throws {
    for await result in try await reference.subscribe() {
      switch result {
      case .success(let value): print(value.data.movie?.genre ?? "There is no movie.")
      case .failure(let error): print(error)
      }
    }
  }

  /// A row that another program wrote.
  private func write(_ title: String, aspectratio: String) async throws {
    let id = UUID().uuidString.lowercased().replacing("-", with: "")
    try await database.firestore.document("movie/\(id)").setData([
      "id": id, "title": title, "genre": NSNull(), "aspectratio": aspectratio,
    ])
  }

  @Test func `a value that the enum does not have is read as unknown`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    try await connector.createMovie.execute(
      title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3)
    try await write("Dune: Part Two", aspectratio: "FULLSCREEN")

    let result = try await connector.listMoviesQuery.execute()
    if let data = result.data {
      for movie in data.movies {
        switch movie.aspectratio {
        case .ACADEMY: print("academy")
        case .WIDESCREEN: print("widescreen")
        case .ANAMORPHIC: print("anamorphic")
        case ._UNKNOWN(let unknownAspect): print(unknownAspect)
        }
      }
    }
    #expect(output.lines.sorted() == ["FULLSCREEN", "widescreen"])
  }

  @Test func `a variable that is unset is no condition, and nil in a closure is null`()
    async throws
  {
    let connector = MoviesConnector(firestore: database.firestore)
    try await connector.createMovie.execute(
      title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3)
    try await write("Untitled", aspectratio: "ACADEMY")

    let everything = try await connector.listMoviesByGenre.execute()
    let next = try await connector.listMoviesByGenre.execute(genre: "Sci-Fi", offset: 10)
    let without = try await connector.listMoviesByGenre.execute { $0.genre = nil }
    #expect(everything.data.movies.count == 2)
    #expect(next.data.movies.count == 0)
    #expect(without.data.movies.map(\.title) == ["Untitled"])
  }

  @Test func `an error has the path of the field that failed`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    do {
      try await connector.listMoviesByGenreQuery.execute(genre: "Sci-Fi", offset: -1)
    } catch let error as DataConnectOperationError {
      for failure in error.response?.errors ?? [] {
        print(failure.path?.map(\.description) ?? [], failure.message)
      }
      print(error.response?.rawJsonData ?? "")
    }
    #expect(
      output.lines == [
        "[\"movies\"] offset must be a number that is not negative.", "{\"movies\":null}",
      ])
  }

  @Test func `operations run for a user, and are refused without one`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    let ada = DataConnectAuth(
      uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
    try await DataConnect.withAuth(ada) {
      try await connector.upsertExtendedProfile.execute(status: "here", photoUrl: "ada.png")
      let saved = try await connector.upsertExtendedProfile.execute { $0.photoUrl = nil }
      let profile = saved.data.profile_upsert
      print(profile.id, profile.status ?? "-", profile.photoUrl ?? "-")
    }
    #expect(output.lines == ["ada here -"])
    let error = await #expect(throws: DataConnectOperationError.self) {
      try await connector.getExtendedProfileByUser.execute()
    }
    #expect(error?.message == "permission denied")
  }

  @Test func `a connector uses the database that it, the task or the process has`() async throws {
    // Stays the process's database: other tests that need one are processes of their own.
    let films = try Firestore.open(at: "films.hearth")
    DataConnect.initialize(films)

    let archive = try Firestore.open(at: "archive.hearth")
    let old = try await DataConnect.withFirestore(archive) {
      try await DataConnect.moviesConnector.listMovies.execute().data.movies
    }
    let archived = MoviesConnector(firestore: archive)
    #expect(old.isEmpty)
    for (title, year) in [("Alien", 1979), ("Heat", 1995)] {
      try await DataConnect.moviesConnector.createMovie.execute(
        title: title, releaseYear: year, genre: "-", rating: 4)
    }
    #expect(try await archived.listMovies.execute().data.movies.isEmpty)

    let rows = try await films.collection("movie")
      .whereField("releaseYear", isLessThan: 1990).getDocuments()
    for row in rows.documents { print(row["title"] ?? "-") }
    #expect(output.lines == ["Alien"])
    try await archive.terminate()
    try await films.terminate()
  }

  @Test func `an emulator is a database of its own`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    connector.useEmulator()
    try await connector.createMovie.execute(
      title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3)
    #expect(try await connector.listMovies.execute().data.movies.count == 1)
    #expect(try await database.firestore.collection("movie").getDocuments().isEmpty)
  }

  @Test func `a program migrates its database`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    try await connector.listMovies.execute()
    for change in try await connector.dataConnect.schemaChanges() { print(change) }
    try await connector.dataConnect.migrate()
    #expect(output.lines.isEmpty)
  }

  @Test func `without a cached result, cacheOnly has no data`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    let key = try await connector.createMovie.execute(
      title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3
    ).data.movie_insert

    let cached = try await connector.getMovieById.execute(fetchPolicy: .cacheOnly, id: key.id)
    if let movie = cached.data?.movie { print(movie.title) }
    #expect(cached.source == .cache && output.lines.isEmpty)
  }
}
