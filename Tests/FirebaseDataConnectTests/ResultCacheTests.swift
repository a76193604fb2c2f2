import Foundation
import Hearth
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// The client's cache: its policies, and rows that several results share.
@Suite struct ResultCacheTests {
  private static let schema = """
    type Movie @table(key: "name") { name: String!  genre: String  at: Timestamp  studio: Studio }
    type Studio @table(key: "name") { name: String!  city: String }
    """

  private static let operations = """
    mutation Save($name: String!, $genre: String, $studio: String) {
      movie_upsert(data: {
        name: $name, genre: $genre, studioName: $studio, at: "2026-01-02T03:04:05.678Z"
      })
    }
    mutation SaveStudio($name: String!, $city: String) { studio_upsert(data: {name: $name, city: $city}) }
    mutation SetAll($genre: String) { movie_updateMany(all: true, data: {genre: $genre}) }
    query Get($name: String!) { movie(key: {name: $name}) { name genre at studio { name city } } }
    query List { movies(orderBy: [{name: ASC}]) { title: name kind: genre studio { place: city } } }
    query Names { movies(orderBy: [{name: ASC}]) { name } }
    """

  private func connector(_ maxAge: TimeInterval, _ storage: CacheSettings.Storage = .memory) throws
    -> TestConnector
  {
    try TestConnector(
      schema: Self.schema, operations: Self.operations,
      settings: DataConnectSettings(cacheSettings: CacheSettings(storage: storage, maxAge: maxAge)))
  }

  /// Past the runtime, whose mutations would make cached rows too old.
  private func change(_ genre: String, _ connector: TestConnector) async throws {
    try await connector.firestore.document("movie/Dune").updateData(["genre": genre])
  }

  /// Ages that no slow machine reaches, and that every machine does.
  @Test(arguments: [(3600.0, DataSource.cache, "a"), (0.01, .server, "b")])
  func `a young result is from the cache, an old one is read again`(
    maxAge: TimeInterval, source: DataSource, genre: DataValue
  ) async throws {
    let connector = try connector(maxAge)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let reference = connector.reference("Get", ["name": "Dune"])
    #expect(try await reference.execute().source == .server)
    try await change("b", connector)
    try await Task.sleep(for: .milliseconds(20))
    let again = try await reference.execute()
    #expect(again.source == source && again.data["movie"]?["genre"] == genre)
    let time = try #require(again.data["movie"]?["at"])
    #expect(
      try DataValueDecoder.decode(Timestamp.self, from: time)
        == Timestamp(seconds: 1_767_323_045, nanoseconds: 678_000_000))
  }

  @Test func `only the cache is asked if the policy says so, and none is no result`() async throws {
    let connector = try connector(0)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let reference = connector.reference("Get", ["name": "Dune"])
    let missing = try await reference.execute(fetchPolicy: .cacheOnly)
    #expect(missing.data == nil && missing.source == .cache)
    #expect(try await reference.execute().source == .server)
    #expect(try await reference.execute().source == .server, "An age of 0 reads again.")
    try await connector.mutate("Save", ["name": "Dune", "genre": "b"])
    let old = try await reference.execute(fetchPolicy: .cacheOnly)
    #expect(old.data["movie"]?["genre"] == "a" && old.source == .cache)
    let new = try await reference.execute(fetchPolicy: .serverOnly)
    #expect(new.data["movie"]?["genre"] == "b" && new.source == .server)
  }

  @Test func `a mutation makes results with its rows too old, also by a filter`() async throws {
    let connector = try connector(1000)
    for name in ["Dune", "Heat"] { try await connector.mutate("Save", ["name": .string(name)]) }
    let (dune, heat) = (
      connector.reference("Get", ["name": "Dune"]), connector.reference("Get", ["name": "Heat"])
    )
    let list = connector.reference("List")
    func sources() async throws -> [DataSource] {
      [
        try await dune.execute().source, try await heat.execute().source,
        try await list.execute().source,
      ]
    }
    #expect(try await sources() == [.server, .server, .server])
    #expect(try await sources() == [.cache, .cache, .cache])
    try await connector.mutate("Save", ["name": "Dune", "genre": "x"])
    #expect(try await sources() == [.server, .cache, .server])
    try await connector.mutate("SetAll", ["genre": "y"])
    #expect(try await sources() == [.server, .server, .server])
  }

  @Test func `a row is one in all results: new values change the others`() async throws {
    let connector = try connector(1000)
    try await connector.mutate("SaveStudio", ["name": "Fox", "city": "LA"])
    try await connector.mutate("Save", ["name": "Dune", "genre": "a", "studio": "Fox"])
    let list = connector.reference("List")
    let names = connector.reference("Names")
    let one = connector.reference("Get", ["name": "Dune"])
    try await list.execute()
    try await names.execute()
    #expect(list.data == ["movies": [["title": "Dune", "kind": "a", "studio": ["place": "LA"]]]])
    try await connector.firestore.document("studio/Fox").updateData(["city": "Paris"])
    try await change("b", connector)
    // The other query reads the rows again, under other names.
    try await one.execute()
    #expect(one.data?["movie"]?["studio"] == ["name": "Fox", "city": "Paris"])
    #expect(
      list.data == ["movies": [["title": "Dune", "kind": "b", "studio": ["place": "Paris"]]]])
    #expect(list.source == .cache)
    #expect(names.data == ["movies": [["name": "Dune"]]])
    let again = try await list.execute()
    #expect(again.source == .cache && again.data == list.data)
  }

  @Test func `a subscriber gets the cached result first, and changes that others bring`()
    async throws
  {
    let connector = try connector(1000)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let list = connector.reference("List")
    try await list.execute()
    var results = try await list.subscribe().makeAsyncIterator()
    var sources = Set<DataSource>()
    let first = try await results.next()?.get()
    #expect(first?.data["movies"]?.elements?.count == 1)
    sources.insert(try #require(first?.source))
    try await change("b", connector)
    try await connector.reference("Get", ["name": "Dune"]).execute()
    while let result = try await results.next()?.get() {
      if result.data["movies"]?.elements?.first?["kind"] == "b" { break }
    }
  }

  @Test func `each user has a cache, and an empty list stays one`() async throws {
    let connector = try connector(1000)
    let list = connector.reference("Names")
    #expect(try await list.execute().data == ["movies": []])
    #expect(try await list.execute().source == .cache)
    #expect(list.data == ["movies": []])
    let sources = try await DataConnect.withAuth(DataConnectAuth(uid: "ada")) {
      [try await list.execute().source, try await list.execute().source]
    }
    #expect(sources == [.server, .cache])
  }

  @Test func `a persistent cache is there after a restart`() async throws {
    let connector = try connector(1000, .persistent)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    try await connector.reference("Get", ["name": "Dune"]).execute()
    let again = try TestConnector(
      connector.connector, connector.database,
      DataConnectSettings(cacheSettings: CacheSettings(storage: .persistent, maxAge: 1000)))
    let result = try await again.reference("Get", ["name": "Dune"]).execute()
    #expect(result.source == .cache && result.data["movie"]?["genre"] == "a")
  }

  @Test func `a database in memory has no cache in a file`() async throws {
    let folder = NSTemporaryDirectory() + "no-cache-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let firestore = try Firestore.open(at: folder + "/films.hearth", settings: settings)
    let template = try connector(1000)
    let connector = DataConnect(
      connectorConfig: template.dataConnect.connectorConfig,
      compiled: String(decoding: try JSONEncoder().encode(template.connector), as: UTF8.self),
      firestore: firestore,
      settings: DataConnectSettings(
        cacheSettings: CacheSettings(storage: .persistent, maxAge: 1000)))
    let names = connector.query(
      name: "Names", variables: [String: DataValue](), resultsDataType: DataValue.self)
    #expect(try await names.execute().source == .server)
    #expect(try await names.execute().source == .cache)
    #expect(try connector.service().cacheFolder == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
    try await firestore.terminate()
  }

  @Test func `a persistent cache that is damaged is replaced by one in memory`() async throws {
    let connector = try connector(1000, .persistent)
    let folder = (connector.database.path as NSString).deletingLastPathComponent
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(repeating: 7, count: 20_000)
      .write(to: URL(filePath: folder + "/films-movies-anonymous.cache.hearth"))
    let names = connector.reference("Names")
    #expect(try await names.execute().source == .server)
    #expect(try await names.execute().source == .cache)
  }

  @Test func `a cache that cannot be read has no result, and fails no query`() async throws {
    let connector = try connector(1000)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let reference = connector.reference("Get", ["name": "Dune"])
    try await reference.execute()
    let service = try connector.dataConnect.service()
    try await connector.dataConnect.cache(service)?.close()
    let result = try await reference.execute()
    #expect(result.data["movie"]?["genre"] == "a" && result.source == .server)
    let missing = try await reference.execute(fetchPolicy: .cacheOnly)
    #expect(missing.data == nil && missing.source == .cache && reference.lastError == nil)
    var results = try await reference.subscribe().makeAsyncIterator()
    let first = try await results.next()?.get()
    #expect(first?.source == .server && first?.data["movie"]?["genre"] == "a")
  }

  @Test func `a cached result of another form is read again`() async throws {
    struct Old: Decodable, Sendable { var movies: [[String: String]] }
    struct New: Decodable, Sendable { var movies: [[String: Int]] }
    let connector = try connector(1000)
    try await connector.mutate("Save", ["name": "Dune"])
    func query<Form: Decodable & Sendable>(_ form: Form.Type) -> QueryRefObservation<
      Form, [String: DataValue]
    > {
      connector.dataConnect.query(name: "Names", variables: [:], resultsDataType: form)
    }
    try await query(Old.self).execute()
    let error = await #expect(throws: DataConnectCodecError.self) {
      try await query(New.self).execute()
    }
    #expect(error?.code == .decodingFailed, "The database has no other form.")
    #expect(try await query(New.self).execute(fetchPolicy: .cacheOnly).data == nil)
  }

  @Test func `a cache that cannot be written fails no query`() async throws {
    let connector = try connector(1000)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let reference = connector.reference("Get", ["name": "Dune"])
    let service = try connector.dataConnect.service()
    try await connector.dataConnect.cache(service)?.close()
    let result = try await reference.execute(fetchPolicy: .serverOnly)
    #expect(result.data["movie"]?["genre"] == "a" && result.source == .server)
    #expect(reference.lastError == nil)
  }
}
