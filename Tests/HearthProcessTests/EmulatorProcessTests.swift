#if Tools
  import Foundation
  import Hearth
  import Movies
  import Synchronization
  import TestSupport
  import Testing

  @testable import FirebaseDataConnect

  /// The process `hearth dataconnect emulator`, and the generated package Movies as its client.
  @Suite(.ownThreads) struct EmulatorProcessTests {
    private let folder = TemporaryFolder()

    private var project: String { folder.path + "/dataconnect" }
    private var schema: String { project + "/schema/schema.gql" }

    init() throws {
      let fixture = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Fixtures/DataConnect/movies").path
      try FileManager.default.copyItem(atPath: fixture, toPath: project)
      try """
      specVersion: v1
      serviceId: films
      location: local
      schema: { source: ./schema }
      connectorDirs: [./connector]

      """.write(toFile: project + "/dataconnect.yaml", atomically: true, encoding: .utf8)
      try "connectorId: movies\n".write(
        toFile: project + "/connector/connector.yaml", atomically: true, encoding: .utf8)
    }

    /// - Parameter port: 0 for a free one. Returns the one that it listens at.
    private func start(port: Int = 0) throws -> (process: Helper, port: Int) {
      let process = try Helper(
        "dataconnect", "emulator", "--port", port, "--config", project, "--data",
        folder.path + "/data", program: "hearth")
      let line = try #require(process.line())
      let address = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+),/))
      #expect(process.line()?.hasPrefix("movies: ") == true)
      return (process, try #require(Int(address.output.1)))
    }

    private func client(_ port: Int) throws -> MoviesConnector {
      // Its own database is not used.
      let settings = FirestoreSettings()
      settings.cacheSettings = MemoryCacheSettings()
      let database = try Firestore.open(
        at: folder.path + "/\(UUID().uuidString).hearth", settings: settings)
      let connector = MoviesConnector(firestore: database)
      // On a busy machine it may greet too late: a database in memory is used then.
      try blockUntil {
        connector.useEmulator(port: port)
        return try connector.dataConnect.executor() is EmulatorClient
      }
      return connector
    }

    @Test(.timeLimit(patience))
    func `a generated package runs against the process, also with a newer schema`() async throws {
      let first = try start()
      let connector = try client(first.port)
      let created = try await connector.createMovieMutation.execute(
        title: "Dune", releaseYear: 1984, genre: "Sci-Fi", rating: 3)
      let id = created.data.movie_insert.id
      let movie = connector.getMovieByIdQuery.ref(id: id)
      let subscription = try await movie.subscribe().sink { _ in }
      try await eventually { movie.data?.movie?.title == "Dune" }

      // A column is added while the process runs; the package is that of before.
      let text = try String(contentsOfFile: schema, encoding: .utf8)
      let newer = text.replacing(
        "averageRating: Int", with: "averageRating: Int\n  tagline: String")
      #expect(newer != text)
      try newer.write(toFile: schema, atomically: true, encoding: .utf8)
      #expect(first.process.line()?.hasPrefix("migrated: ") == true)
      #expect(first.process.line()?.hasPrefix("movies: ") == true)
      try await connector.updateMovieMutation.execute(id: id, genre: "Epic", description: "Sand.")
      try await eventually { movie.data?.movie?.genre == "Epic" }

      // The database is used by this process, too.
      let path = folder.path + "/data/dataconnect.hearth"
      let direct = MoviesConnector(firestore: try Firestore.open(at: path))
      try await direct.updateMovieMutation.execute(id: id, genre: "Opera", description: "Sand.")
      try await eventually { movie.data?.movie?.genre == "Opera" }
      try await Firestore.open(at: path).terminate()

      first.process.kill(SIGTERM)
      #expect(first.process.lines().isEmpty)
      let second = try start(port: first.port)
      var titles: [String]?
      try await eventually {
        // The connection is made again, for which there is little time.
        titles = try? await connector.listMoviesQuery.execute(fetchPolicy: .serverOnly)
          .data.movies.map(\.title)
        return titles != nil
      }
      #expect(titles == ["Dune"])
      try await connector.updateMovieMutation.execute(id: id, genre: "Again", description: "Sand.")
      try await eventually { movie.data?.movie?.genre == "Again" }
      subscription.cancel()
      second.process.kill(SIGINT)
      #expect(second.process.lines().isEmpty)
    }

    @Test(.timeLimit(patience))
    func `a migration that is killed goes on where it ended`() async throws {
      let path = folder.path + "/films.hearth"
      let count = 4000
      do {
        let db = try Firestore.open(at: path)
        let direct = MoviesConnector(firestore: db)
        try await direct.createMovieMutation.execute(
          title: "0", releaseYear: 2000, genre: "a", rating: 1)
        let movies = db.collection("movie")
        let first = try #require(try await movies.getDocuments().documents.first)
        try await db.write { writer in
          for number in 1..<count {
            let id = String(number, radix: 16)
            let key = String(repeating: "0", count: 32 - id.count) + id
            var fields = first.data()
            fields["id"] = key
            try writer.setData(fields, forDocument: movies.document(key))
          }
        }
        try await db.terminate()
      }
      let text = try String(contentsOfFile: schema, encoding: .utf8)
      try text.replacing(
        "averageRating: Int",
        with: "averageRating: Int\n  code: UUID! @default(expr: \"uuidV4()\")"
      ).write(toFile: schema, atomically: true, encoding: .utf8)
      var codes: [String: String] = [:]
      var interruptions = 0
      for round in 0..<100 {
        let process = try Helper(
          "dataconnect", "migrate", path, "--config", project, program: "hearth")
        let isLast = round == 99
        if !isLast { process.kill(after: .random(in: 50_000...400_000)) }
        let isDone = !process.lines().isEmpty
        let db = try Firestore.open(at: path)
        for document in try await db.collection("movie").getDocuments().documents {
          guard let code = document["code"] as? String else { continue }
          #expect(codes[document.documentID] ?? code == code)
          codes[document.documentID] = code
        }
        if !codes.isEmpty, codes.count < count { interruptions += 1 }
        try await db.terminate()
        if isDone { break }
      }
      #expect(codes.count == count && Set(codes.values).count == count)
      print("migration: \(interruptions) interruptions between its first and its last row")
      // The package of before.
      let db = try Firestore.open(at: path)
      let listed = try await MoviesConnector(firestore: db).listMoviesQuery.execute()
      #expect(listed.data.movies.count == 100)
      try await db.terminate()
    }

    @Test(.timeLimit(patience))
    func `acknowledged mutations are there after the process was killed under load`() async throws {
      var port = 0
      var acknowledged: Set<String> = []
      for round in 0..<(Soak.isOn ? 50 : 4) {
        let (process, chosen) = try start(port: port)
        port = chosen
        let connectors = try (0..<3).map { _ in try client(chosen) }
        let done = Titles()
        let load = connectors.enumerated().map { worker, connector in
          Task {
            for number in 0... {
              let title = "\(round) \(worker) \(number)"
              do {
                try await connector.createMovieMutation.execute(
                  title: title, releaseYear: 2000, genre: "load", rating: 1)
                done.add(title)
              } catch {
                let code = (error as? DataConnectInternalError)?.code
                #expect(code == .unknownOutcome || code == .emulatorUnavailable, "\(error)")
                return
              }
            }
          }
        }
        try await eventually { done.all.count > 20 + round * 7 }
        process.kill(SIGKILL)
        #expect(process.wasKilled)
        for task in load { await task.value }
        acknowledged.formUnion(done.all)
      }
      let db = try Firestore.open(at: folder.path + "/data/dataconnect.hearth")
      let titles = try await db.collection("movie").getDocuments().documents.compactMap {
        $0["title"] as? String
      }
      #expect(Set(titles).isSuperset(of: acknowledged) && titles.count == Set(titles).count)
      try await db.terminate()
    }
  }

  /// The titles of acknowledged mutations.
  private final class Titles: Sendable {
    private let titles = Mutex<Set<String>>([])

    var all: Set<String> { titles.withLock(\.self) }
    func add(_ title: String) { titles.withLock { _ = $0.insert(title) } }
  }
#endif
