import Foundation
import Hearth
import HearthTesting
import Movies
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
      let id = try await connector.createMovieMutation.execute(
        title: "Dune", releaseYear: 1984, genre: "Drama", rating: 3
      ).data.movie_insert.id
      func save(_ genre: String) async throws {
        try await connector.updateMovieMutation.execute(id: id, genre: genre, description: "sand")
      }
      let reference = connector.listMoviesByGenreQuery.ref(genre: "Sci-Fi")
      let view = ListMovieView()
      await view.onAppear()
      #expect(try await reaches { reference.data != nil })
      #expect(await view.titles.isEmpty)
      try await save("Sci-Fi")
      #expect(try await reaches { view.titles == ["Dune"] })
      await view.onDisappear()
      try await Task.sleep(for: .milliseconds(50))
      try await database.firestore.collection("movie").document(id.dataConnectText).delete()
      try await save("Sci-Fi")
      try await Task.sleep(for: .milliseconds(50))
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

/// Waits for a condition.
private func reaches(_ condition: @MainActor () -> Bool) async throws -> Bool {
  for _ in 0..<5000 {
    if await condition() { return true }
    try await Task.sleep(for: .milliseconds(1))
  }
  return false
}
