import CinemaKit
import FirebaseCore
import FirebaseDataConnect
import Foundation
import Hearth
import Movies

// The samples of the documentation, as they are written there: without SwiftUI's views, and functions in
// place of the top level. Compiled; `SeedSampleTests` runs those that the default database allows.

func createsAMovie() async throws {
  let connector = DataConnect.moviesConnector
  let mutationResult = try await connector.createMovieMutation.execute(
    title: "Empire Strikes Back",
    releaseYear: 1980,
    genre: "Sci-Fi",
    rating: 5)

  print("Movie ID: \(mutationResult.data.movie_insert.id)")
}

@MainActor
final class ListMovieView {
  private var queryRef = DataConnect.moviesConnector.listMoviesByGenreQuery.ref(genre: "Sci-Fi")

  // Store the handle to unsubscribe from query updates.
  private var querySub: AnyCancellable?

  var titles: [String] { (queryRef.data?.movies ?? []).map(\.title) }

  @MainActor
  func refresh() async throws {
    _ = try await queryRef.execute()
  }

  func onAppear() {
    // Subscribe to the query for updates using the Observable macro.
    Task {
      do {
        querySub = try await queryRef.subscribe().sink { _ in }
      } catch {
        print("Error subscribing to query: \(error)")
      }
    }
  }

  func onDisappear() {
    querySub?.cancel()
  }
}

func listsMovies() async throws {
  let resultData = try await DataConnect.moviesConnector.listMoviesByGenreQuery.execute(
    genre: "Sci-Fi")
  _ = resultData
}

func handlesEnums() async {
  do {
    let result = try await DataConnect.moviesConnector.listMovies.execute()
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
  } catch {
    // handle error
  }
}

func usesTheEmulator() {
  let connector = DataConnect.moviesConnector
  // Connect to the emulator on "127.0.0.1:9399"
  connector.useEmulator()

  // (alternatively) if you're running your emulator on non-default port:
  connector.useEmulator(port: 9999)
}

// Other forms of calls.

@MainActor
final class Model {
  var offset = 10

  func loads() async throws {
    let connector = MoviesConnector(firestore: Firestore.firestore())
    _ = connector.getMovieByKeyQuery.ref(key: MovieKey(id: UUID())).data?.movie?.title
    try await connector.getMovieByIdQuery.execute(fetchPolicy: .serverOnly, id: UUID())
    try await connector.updateMovie.execute(id: UUID(), genre: "Drama", description: "…")
    let ref = connector.getExtendedProfileByUserQuery.ref()
    try await ref.execute(fetchPolicy: .cacheOnly)

    let list = connector.listMoviesByGenreQuery
    _ = list.ref()
    _ = list.ref(genre: "Sci-Fi")
    _ = list.ref(genre: "Sci-Fi", offset: 10)
    _ = list.ref {
      $0.genre = nil
      $0.offset = offset
    }
    // A closure that uses the state of an actor.
    try await list.execute { $0.offset = self.offset }
    try await list.execute(fetchPolicy: .preferCache) { $0.offset = self.offset }

    let saved = try await connector.upsertExtendedProfileMutation.execute {
      $0.status = "…"
      $0.photoUrl = nil
    }
    let profile: UpsertExtendedProfileMutation.Data.Profile? = saved.data?.profile_upsert
    _ = profile?.profileKey == ProfileKey(id: "me")

    let cinema = DataConnect.cinemaConnector
    try await cinema.addMovies.execute(
      movies: [MovieData { $0.title = "M" }, MovieData { $0.genres = [.DRAMA] }])
    _ = cinema.getMovieQuery.ref(id: UUID(), withCast: true, roles: ["lead"])
    _ = cinema.voteMutation.ref(in: 1, dataConnect: "x", default: "y", self_: "z")
    _ = cinema.tickets.ref(where: try AnyValue(codableValue: ["price": ["gt": 5]]))
    try await cinema.search.execute(query: "war", format: .PHRASE)
    _ = cinema.checkAndDelete.ref(key: SeatKey(hall: "A", row: 1, number: 2)) { $0.where = nil }
  }
}

func identifies<Row: Identifiable & Hashable>(_ row: Row) -> Row.ID { row.id }

func identities(
  _ movie: CinemaKit.GetMovieQuery.Data.Movie,
  _ user: TicketsQuery.Data.Ticket.User
) {
  let id: UUID = identifies(movie)
  let uid: String = identifies(user)
  let actors: [MovieActorKey] = movie.movieActors_on_movie.map(identifies)
  let main: [ActorKey] = movie.main.map(\.actorMainKey)
  let supporting: [GetMovieQuery.Data.Movie.ActorSupporting]? = movie.supporting
  _ = (id, uid, actors, main, supporting)
}
