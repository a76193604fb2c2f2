import CinemaKit
import FirebaseCore
import Foundation
import Hearth
import HearthTesting
import Movies
import Observation
import Synchronization
import Testing

@testable import FirebaseDataConnect

/// Generated packages on a database: the documentation's program, and the promises of generated code.
@Suite struct GeneratedCodeTests {
  private let database: TemporaryDatabase

  init() throws { database = try TemporaryDatabase() }

  @Test func `the documentation's program runs`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    let mutationResult = try await connector.createMovieMutation.execute(
      title: "Empire Strikes Back",
      releaseYear: 1980,
      genre: "Sci-Fi",
      rating: 5)
    let id = mutationResult.data.movie_insert.id
    let movie = try await connector.getMovieByKeyQuery.execute(key: MovieKey(id: id)).data.movie
    #expect(movie?.id == id && movie?.title == "Empire Strikes Back")
    #expect(movie?.movieKey == MovieKey(id: id))
    let all = try await connector.listMovies.execute()
    guard let data = all.data else {
      Issue.record("There is no result.")
      return
    }
    for movie in data.movies {
      switch movie.aspectratio {
      case .WIDESCREEN: break
      case .ACADEMY, .ANAMORPHIC, ._UNKNOWN: Issue.record("The default is WIDESCREEN.")
      }
    }
    #expect(data.movies.count == 1)
    let list = try await connector.listMoviesByGenreQuery.execute(genre: "Sci-Fi")
    #expect(list.data.movies.map(\.id) == [id] && list.source == .server)
    #expect(try await connector.listMoviesByGenreQuery.execute(genre: "Drama").data.movies.isEmpty)
    // Unset variables are no condition.
    #expect(try await connector.listMoviesByGenreQuery.execute().data.movies.count == 1)
  }

  @Test func `a reference is observable, and is refreshed by the mutation of another instance`()
    async throws
  {
    let connector = MoviesConnector(firestore: database.firestore)
    let other = MoviesConnector(firestore: database.firestore)
    let id = try await connector.createMovie.execute(
      title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3
    ).data.movie_insert.id
    let reference = connector.getMovieByIdQuery.ref(id: id)
    #expect(reference === connector.getMovieByIdQuery.ref(id: id))
    #expect(reference !== connector.getMovieByIdQuery.ref(id: UUID()))
    let changes = Mutex(0)
    withObservationTracking {
      _ = reference.data
    } onChange: {
      changes.withLock { $0 += 1 }
    }
    var results = try await reference.subscribe().makeAsyncIterator()
    #expect(try await results.next()?.get().data.movie?.genre == "Sci-Fi")
    #expect(changes.withLock(\.self) == 1 && reference.data?.movie?.genre == "Sci-Fi")
    try await other.updateMovie.execute(id: id, genre: "Epic", description: "sand")
    #expect(try await results.next()?.get().data.movie?.genre == "Epic")
    #expect(reference.data?.movie?.description == "sand" && reference.lastError == nil)
  }

  @Test func `optional variables are unset, null or a value`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    let ada = DataConnectAuth(uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
    try await DataConnect.withAuth(ada) {
      let saved = try await connector.upsertExtendedProfileMutation.execute {
        $0.status = "here"
        $0.photoUrl = "a.png"
      }
      #expect(saved.data.profile_upsert.photoUrl == "a.png")
      let changed = try await connector.upsertExtendedProfileMutation.execute {
        $0.photoUrl = nil
      }
      #expect(changed.data.profile_upsert.status == "here")
      #expect(changed.data.profile_upsert.photoUrl == nil)
      let profile = try await connector.getExtendedProfileByUserQuery.execute().data.profile
      #expect(profile?.id == "ada" && profile?.profileKey == ProfileKey(id: "ada"))
    }
    await #expect(throws: DataConnectOperationError.self) {
      try await connector.getExtendedProfileByUserQuery.execute()
    }
  }

  @Test func `an emulator has data of its own`() async throws {
    let connector = MoviesConnector(firestore: database.firestore)
    connector.useEmulator()
    connector.useEmulator(port: 9999)
    try await connector.createMovie.execute(
      title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3)
    #expect(try await connector.listMovies.execute().data.movies.count == 1)
    #expect(try await database.firestore.collection("movie").getDocuments().isEmpty)
  }

  @Test func `a value of an enum that the schema does not have is refused`() async throws {
    let unknown = try AspectRatio(dataConnectValue: .string("FULLSCREEN"))
    #expect(unknown == ._UNKNOWN("FULLSCREEN"))
    #expect(unknown.dataConnectValue == .string("FULLSCREEN"))
    #expect(AspectRatio.allCases == [.ACADEMY, .WIDESCREEN, .ANAMORPHIC])
    let coded = try JSONDecoder().decode(
      [AspectRatio].self, from: JSONEncoder().encode([AspectRatio.ACADEMY, unknown]))
    #expect(coded == [.ACADEMY, unknown])
    // A row that a newer program wrote is read.
    let connector = MoviesConnector(firestore: database.firestore)
    let id = UUID().uuidString.lowercased().replacing("-", with: "")
    try await database.firestore.document("movie/\(id)").setData([
      "id": id, "title": "Dune", "aspectratio": "FULLSCREEN",
    ])
    let movies = try await connector.listMovies.execute().data.movies
    #expect(movies.map(\.aspectratio) == [._UNKNOWN("FULLSCREEN")])
  }

  @Test func `generated structures read their members, and are equal by their keys`() throws {
    let (id, actor) = (UUID(), UUID())
    let movie: DataValue = [
      "id": id.dataConnectValue, "releaseDate": nil, "rating": 4.0,
      "main": [["id": actor.dataConnectValue, "name": "Maria"]],
      "supporting": nil, "movieActors_on_movie": [], "reviews_on_movie": [],
      "average": [["rating_avg": nil, "_count": 2]],
    ]
    let data = try GetMovieQuery.Data(dataConnectValue: ["movie": movie])
    #expect(data.movie?.id == id && data.movie?.releaseDate == nil)
    #expect(data.movie?.main.first?.actorMainKey == ActorKey(id: actor))
    #expect(data.movie?.supporting == nil && data.movie?.average.first?._count == 2)
    #expect(try GetMovieQuery.Data(dataConnectValue: ["movie": nil]).movie == nil)
    #expect(throws: (any Error).self) {
      try GetMovieQuery.Data(dataConnectValue: ["movie": ["id": nil]])
    }
    // Also by Codable, whatever the order.
    let json = "{\"movie\": {\"title\": \"b\", \"id\": \"\(id)\"}}"
    let other = try JSONDecoder().decode(
      GetMovieByKeyQuery.Data.self, from: Data(json.utf8)
    ).movie
    let one = try GetMovieByKeyQuery.Data.Movie(
      dataConnectValue: ["id": id.dataConnectValue, "title": "a"])
    #expect(one == other && other?.title == "b" && Set([one, other]).count == 1)
  }

  @Test func `variables that are unset are not sent, and nil is null`() throws {
    var variables = ListMoviesByGenreQuery.Variables()
    #expect(variables.dataConnectValues.names.isEmpty)
    variables.genre = nil
    variables.offset = 3
    #expect(variables.dataConnectValues == ["genre": nil, "offset": 3])
    #expect(variables == ListMoviesByGenreQuery.Variables { ($0.genre, $0.offset) = (nil, 3) })
    let id = UUID()
    let key = try ReviewKey(
      dataConnectValue: ["movieId": id.dataConnectValue, "userUid": "u"])
    #expect(key == ReviewKey(userUid: "u", movieId: id))
    #expect(MovieData { $0.title = "M" }.dataConnectValue == ["title": "M"])
  }
}
