import Foundation
import Hearth
import HearthTesting
import Movies
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// Runs the documentation's samples of `Samples.swift`. All of them use `DataConnect.moviesConnector`, so
/// each test is a process of its own.
@Suite struct SeedSampleTests {
  @Test func `the samples create movies, list them, and show them in a view`() async {
    await #expect(processExitsWith: .success) {
      let database = try TemporaryDatabase()
      DataConnect.initialize(database.firestore)
      let view = ListMovieView()
      #expect(await view.titles.isEmpty)
      try await createsAMovie()
      #expect(await view.titles.isEmpty)
      try await view.refresh()
      #expect(await view.titles == ["Empire Strikes Back"])
      try await listsMovies()
      await handlesEnums()
    }
  }

  @Test func `the view of the sample follows mutations until it disappears`() async {
    await #expect(processExitsWith: .success) {
      let database = try TemporaryDatabase()
      DataConnect.initialize(database.firestore)
      let connector = DataConnect.moviesConnector
      func createDrama(_ title: String) async throws -> UUID {
        try await connector.createMovieMutation.execute(
          title: title, releaseYear: 1984, genre: "Drama", rating: 3
        ).data.movie_insert.id
      }
      let (dune, brazil) = (try await createDrama("Dune"), try await createDrama("Brazil"))
      let reference = connector.listMoviesByGenreQuery.ref(genre: "Sci-Fi")
      let view = ListMovieView()
      await view.onAppear()
      try await eventually { reference.data != nil }
      #expect(await view.titles.isEmpty)
      try await connector.updateMovieMutation.execute(id: dune, genre: "Sci-Fi", description: "")
      try await eventually { await view.titles == ["Dune"] }
      await view.onDisappear()
      let hub = SubscriptionHub.shared(for: database.firestore)
      try await eventually { hub.count == 0 }
      try await connector.updateMovieMutation.execute(id: brazil, genre: "Sci-Fi", description: "")
      try await quietTime()
      #expect(await view.titles == ["Dune"])
    }
  }

  @Test func `the sample's emulator has data of its own, on each of its ports`() async {
    await #expect(processExitsWith: .success) {
      let database = try TemporaryDatabase()
      DataConnect.initialize(database.firestore)
      usesTheEmulator()
      try await createsAMovie()
      #expect(try await DataConnect.moviesConnector.listMovies.execute().data.movies.count == 1)
      #expect(try await database.firestore.collection("movie").getDocuments().isEmpty)
    }
  }
}
