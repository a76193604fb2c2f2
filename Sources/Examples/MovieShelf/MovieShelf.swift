import FirebaseDataConnect
import Movies

/// The movies of a genre, kept up to date.
public final class MovieShelf: Sendable {
  private let connector: MoviesConnector

  /// Movies in the service's database.
  public init(connector: MoviesConnector = DataConnect.moviesConnector) {
    self.connector = connector
  }

  /// Adds a movie, and returns its key.
  public func add(title: String, year: Int, genre: String, rating: Int) async throws -> MovieKey {
    try await connector.createMovieMutation
      .execute(title: title, releaseYear: year, genre: genre, rating: rating).data.movie_insert
  }

  /// Moves a movie to another genre.
  public func move(_ key: MovieKey, to genre: String, description: String) async throws {
    _ = try await connector.updateMovieMutation.execute(
      id: key.id, genre: genre, description: description)
  }

  /// The titles of a genre.
  public func titles(genre: String) async throws -> [String] {
    try await connector.listMoviesByGenreQuery.execute(genre: genre).data.movies.map(\.title)
  }

  /// The genre of a movie: now, and after each mutation that changes it.
  public func genres(of key: MovieKey) async throws -> AsyncStream<String?> {
    let results = try await connector.getMovieByIdQuery.ref(id: key.id).subscribe()
    return AsyncStream { continuation in
      let task = Task {
        for await result in results {
          if let value = try? result.get() { continuation.yield(value.data.movie?.genre) }
        }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
