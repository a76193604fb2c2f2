import Foundation
import Hearth
import HearthTesting
import Synchronization
import TestSupport
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
    mutation SaveTwo($one: String!, $two: String!, $genre: String) {
      one: movie_upsert(data: {name: $one, genre: $genre})
      two: movie_upsert(data: {name: $two, genre: $genre})
    }
    mutation SaveStudio($name: String!, $city: String) { studio_upsert(data: {name: $name, city: $city}) }
    mutation SetAll($genre: String) { movie_updateMany(all: true, data: {genre: $genre}) }
    query Get($name: String!) { movie(key: {name: $name}) { name genre at studio { name city } } }
    query GetAndList($name: String!) {
      movie(key: {name: $name}) { name }
      studios { name }
    }
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
    // The result grows old while it is asked for.
    var again = try await reference.execute()
    try await eventually {
      if again.source != source { again = try await reference.execute() }
      return again.source == source
    }
    #expect(again.data["movie"]?["genre"] == genre)
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

  @Test func `a mutation makes results with the rows of each of its fields too old`() async throws {
    let connector = try connector(1000)
    let names: [DataValue] = ["Dune", "Heat", "Alien"]
    for name in names { try await connector.mutate("Save", ["name": name, "genre": "a"]) }
    let movies = names.map { connector.reference("Get", ["name": $0]) }
    for movie in movies { try await movie.execute() }
    try await connector.mutate("SaveTwo", ["one": "Dune", "two": "Heat", "genre": "b"])
    var genres: [DataValue?] = []
    var sources: [DataSource] = []
    for movie in movies {
      let result = try await movie.execute()
      genres.append(result.data["movie"]?["genre"])
      sources.append(result.source)
    }
    #expect(genres == ["b", "b", "a"] && sources == [.server, .server, .cache])
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
    let folder = TemporaryFolder()
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let firestore = try Firestore.open(at: folder.path + "/films.hearth", settings: settings)
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
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    try await firestore.terminate()
  }

  @Test func `a persistent cache that is damaged is replaced by one in memory`() async throws {
    let connector = try connector(1000, .persistent)
    let folder = (connector.database.path as NSString).deletingLastPathComponent
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let name = ResultCache.fileName(
      connector.dataConnect.connectorConfig, connector.database.path, nil)
    try Data(repeating: 7, count: 20_000).write(to: URL(filePath: folder + "/" + name))
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

  // MARK: Many rows

  @Test
  func `results and writes of more rows than a query has alternatives are cached and noticed`()
    async throws
  {
    let connector = try connector(1000)
    for number in 0..<40 { try await connector.mutate("Save", ["name": .string("m\(number)")]) }
    let (list, names) = (connector.reference("List"), connector.reference("Names"))
    for reference in [list, names] {
      #expect(try await reference.execute().source == .server)
      #expect(try await reference.execute().source == .cache)
    }
    let one = connector.reference("Get", ["name": "m1"])
    try await one.execute()
    try await connector.mutate("SetAll", ["genre": "x"])
    let again = try await one.execute()
    #expect(again.source == .server && again.data["movie"]?["genre"] == "x")
    // The list is read again, and all of its rows have changed: other results change with them.
    try await connector.firestore.write { writer in
      for number in 0..<40 {
        try writer.updateData(
          ["genre": "y"], forDocument: connector.firestore.document("movie/m\(number)"))
      }
    }
    try await list.execute(fetchPolicy: .serverOnly)
    #expect(one.data?["movie"]?["genre"] == "y" && one.source == .cache)
  }

  // MARK: Users

  private func profiles() throws -> TestConnector {
    try TestConnector(
      schema: "type Profile @table(key: \"uid\") { uid: String!  text: String }",
      operations: """
        mutation Save($uid: String!, $text: String) { profile_upsert(data: {uid: $uid, text: $text}) }
        query Mine { profile(key: {uid_expr: "auth.uid"}) { uid text } }
        query ByUser($uid: String!) { profile(key: {uid: $uid}) { uid text } }
        """,
      settings: DataConnectSettings(cacheSettings: CacheSettings(storage: .memory, maxAge: 1000)))
  }

  @Test func `a subscription never delivers the result of another user`() async throws {
    let connector = try profiles()
    for user in ["ada", "bob"] {
      try await connector.mutate("Save", ["uid": .string(user), "text": "old"])
    }
    // Made for nobody: one object for both.
    let mine = connector.reference("Mine")
    let delivered = Mutex<[DataValue]>([])
    let subscription = try await DataConnect.withAuth(DataConnectAuth(uid: "bob")) {
      try await mine.subscribe().sink { result in
        let profile = (try? result.get())?.data?["profile"]
        delivered.withLock { $0.append(profile ?? .null) }
      }
    }
    defer { subscription.cancel() }
    try await eventually { delivered.withLock { !$0.isEmpty } }
    try await DataConnect.withAuth(DataConnectAuth(uid: "ada")) {
      #expect(try await mine.execute().data["profile"]?["uid"] == "ada")
      try await connector.firestore.document("profile/ada").updateData(["text": "new"])
      try await connector.reference("ByUser", ["uid": "ada"]).execute()
    }
    #expect(
      mine.data?["profile"] == ["uid": "ada", "text": "new"], "The last to execute it was ada.")
    try await connector.mutate("Save", ["uid": "bob", "text": "end"])
    try await eventually { delivered.withLock { $0.last?["text"] == "end" } }
    #expect(delivered.withLock { $0.allSatisfy { $0["uid"] == "bob" } })
    // Ada's row changes bob's data no more.
    try await DataConnect.withAuth(DataConnectAuth(uid: "ada")) {
      try await connector.firestore.document("profile/ada").updateData(["text": "newest"])
      try await connector.reference("ByUser", ["uid": "ada"]).execute()
    }
    #expect(mine.data?["profile"]?["uid"] == "bob")
  }

  @Test func `references that users make for themselves are objects of their own`() async throws {
    let connector = try profiles()
    func reference(_ user: String?) async -> QueryRefObservation<DataValue, [String: DataValue]> {
      await DataConnect.withAuth(user.map { DataConnectAuth(uid: $0) }) {
        connector.reference("Mine")
      }
    }
    let users = ["ada", "bob", "", nil]
    var references: [QueryRefObservation<DataValue, [String: DataValue]>] = []
    for user in users { references.append(await reference(user)) }
    #expect(Set(references).count == users.count)
    for (user, known) in zip(users, references) { #expect(await reference(user) === known) }
  }

  // MARK: Sessions

  /// Connectors with persistent caches on files of one folder.
  private struct Folder {
    private let folder = TemporaryFolder()
    var path: String { folder.path }
    let compiled: String
    let config: ConnectorConfig

    init(_ template: TestConnector) throws {
      compiled = String(decoding: try JSONEncoder().encode(template.connector), as: UTF8.self)
      config = template.dataConnect.connectorConfig
    }

    func open(_ name: String) throws -> Firestore { try Firestore.open(at: path + "/" + name) }

    func connector(_ firestore: Firestore) -> DataConnect {
      DataConnect(
        connectorConfig: config, compiled: compiled, firestore: firestore,
        settings: DataConnectSettings(
          cacheSettings: CacheSettings(storage: .persistent, maxAge: 1000)))
    }
  }

  private func list(_ connector: DataConnect) async throws -> OperationResult<DataValue> {
    try await connector.query(
      name: "List", variables: [String: DataValue](), resultsDataType: DataValue.self
    ).execute()
  }

  private func save(_ genre: String, _ connector: DataConnect) async throws {
    try await connector.mutation(
      name: "Save", variables: ["name": "Dune", "genre": genre], resultsDataType: DataValue.self
    ).execute()
  }

  /// A service whose first announcements fail, and that counts its comparisons of states.
  private final class Probe: OperationExecutor {
    let service: ConnectorService
    let failures: Mutex<Int>
    let comparisons = Mutex(0)

    init(_ service: ConnectorService, failures: Int = 0) {
      self.service = service
      self.failures = Mutex(failures)
    }

    var databaseName: String { service.databaseName }
    var cacheFolder: String? { service.cacheFolder }
    func changeToken() async throws -> ChangeToken? { try await service.changeToken() }

    func hasSameRows(_ old: ChangeToken, _ new: ChangeToken) async throws -> Bool {
      comparisons.withLock { $0 += 1 }
      return try await service.hasSameRows(old, new)
    }

    func query(
      _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?, marksRows: Bool
    ) async throws -> OperationResponse {
      try await service.query(name, variables, auth, marksRows: marksRows)
    }

    func mutate(
      _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?
    ) async throws -> OperationResponse {
      try await service.mutate(name, variables, auth)
    }

    func subscribe(
      _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?,
      _ refresh: nonisolated(nonsending) @escaping @Sendable () async -> Void
    ) async throws -> Refresher {
      try await service.subscribe(name, variables, auth, refresh)
    }

    func add(_ cache: ResultCache) { service.add(cache) }

    func announceCaches() async throws {
      let isFailing = failures.withLock { failures in
        failures -= 1
        return failures >= 0
      }
      if isFailing { throw CancellationError() }
      try await service.announceCaches()
    }

    /// As of a new process.
    func openCache(_ config: ConnectorConfig) throws -> ResultCache {
      let cache = try ResultCache(config, self, isPersistent: true, nil)
      add(cache)
      return cache
    }
  }

  private func store(_ request: String, in cache: ResultCache) async throws {
    _ = try await cache.store(["movies": []], for: request, cache.beginReading())
  }

  private func isYoung(_ request: String, in cache: ResultCache) async throws -> Bool {
    try #require(try await cache.result(request)).age.isFinite
  }

  /// A new database, and the service of a first process.
  private func withFilms(
    _ body: (_ folder: Folder, _ firestore: Firestore, _ first: Probe) async throws -> Void
  ) async throws {
    let folder = try Folder(connector(1000))
    defer { try? FileManager.default.removeItem(atPath: folder.path) }
    let firestore = try folder.open("films.hearth")
    let connector = folder.connector(firestore)
    try await body(folder, firestore, Probe(connector.service()))
    try await firestore.terminate()
  }

  @Test func `an announcement that fails once leaves earlier results usable`() async throws {
    try await withFilms { folder, firestore, first in
      try await store("a", in: first.openCache(folder.config))
      let second = Probe(first.service, failures: 1)
      let cache = try second.openCache(folder.config)
      #expect(try await !isYoung("a", in: cache))
      #expect(second.comparisons.withLock(\.self) == 0)
      #expect(try await isYoung("a", in: cache))
      #expect(second.comparisons.withLock(\.self) <= 1)
    }
  }

  @Test func `the change log is read for few of the results of an earlier session`() async throws {
    try await withFilms { folder, firestore, first in
      let earlier = try first.openCache(folder.config)
      // Only the third change is one of the connector's tables.
      for (request, changed) in [
        ("0", "other/a"), ("1", "other/b"), ("2", "movie/Dune"), ("3", "other/c"), ("4", "other/d"),
        ("5", "other/e"),
      ] {
        try await store(request, in: earlier)
        try await firestore.document(changed).setData(["name": "Dune"])
      }
      let second = Probe(first.service)
      let cache = try second.openCache(folder.config)
      for (request, isSame, comparisons) in [
        ("4", true, 1), ("5", true, 1), ("3", true, 2), ("4", true, 2),
        ("1", false, 3), ("0", false, 3), ("2", false, 4), ("1", false, 4), ("3", true, 4),
      ] {
        #expect(try await isYoung(request, in: cache) == isSame, "\(request)")
        #expect(second.comparisons.withLock(\.self) == comparisons, "\(request)")
      }
    }
  }

  @Test func `a result is too old after more changes than are worth reading`() async throws {
    try await withFilms { folder, firestore, first in
      let earlier = try first.openCache(folder.config)
      try await store("a", in: earlier)
      try await firestore.write { writer in
        for number in 0..<10_000 {
          try writer.setData([:], forDocument: firestore.document("other/\(number)"))
        }
      }
      try await store("b", in: earlier)
      try await firestore.document("other/last").setData([:])
      let second = Probe(first.service)
      let cache = try second.openCache(folder.config)
      #expect(try await !isYoung("a", in: cache))
      #expect(try await isYoung("b", in: cache))
      #expect(second.comparisons.withLock(\.self) == 2)
    }
  }

  @Test func `a cache goes with the service of a database that was not used for long`() throws {
    let connector = try connector(1000)
    let service = try connector.dataConnect.service()
    weak let cache = try connector.dataConnect.cache(service)
    var others: [TemporaryDatabase] = []
    for number in 0..<8 {
      #expect(cache != nil, "\(number)")
      others.append(try TemporaryDatabase())
      _ = try connector.dataConnect.executor(.database(others[number].firestore))
    }
    #expect(cache == nil)
    #expect(try connector.dataConnect.service() !== service)
  }

  @Test func `databases of one folder have caches of their own`() async throws {
    let folder = try Folder(connector(1000))
    defer { try? FileManager.default.removeItem(atPath: folder.path) }
    var databases: [Firestore] = []
    for (file, genre) in [("films.hearth", "a"), ("archive.hearth", "b")] {
      let firestore = try folder.open(file)
      databases.append(firestore)
      let connector = folder.connector(firestore)
      try await save(genre, connector)
      #expect(try await list(connector).source == .server)
    }
    for (firestore, genre) in zip(databases, ["a", "b"] as [DataValue]) {
      let found = try await list(folder.connector(firestore))
      #expect(found.source == .cache && found.data["movies"]?.elements?.first?["kind"] == genre)
    }
    for firestore in databases { try await firestore.terminate() }
  }

  @Test func `users of one database have persistent caches of their own`() async throws {
    let folder = try Folder(profiles())
    defer { try? FileManager.default.removeItem(atPath: folder.path) }
    let firestore = try folder.open("films.hearth")
    let users = ["ada", "bob"]
    // The second connector is the program after a restart.
    for source in [DataSource.server, .cache] {
      let connector = folder.connector(firestore)
      for user in users where source == .server {
        try await connector.mutation(
          name: "Save", variables: ["uid": user, "text": "of \(user)"],
          resultsDataType: DataValue.self
        ).execute()
      }
      for user in users {
        let found = try await DataConnect.withAuth(DataConnectAuth(uid: user)) {
          try await connector.query(
            name: "Mine", variables: [String: DataValue](), resultsDataType: DataValue.self
          ).execute()
        }
        #expect(found.source == source, "\(user)")
        #expect(
          found.data["profile"] == ["uid": .string(user), "text": .string("of \(user)")],
          "\(user) from the \(source)")
      }
    }
    let files = [nil, "", "ada", "bob"].map { user in
      ResultCache.fileName(
        folder.config, firestore.path, user.map { DataConnectAuth(uid: $0) })
    }
    #expect(Set(files).count == files.count, "Nobody is not a user without a name.")
    try await firestore.terminate()
  }

  @Test func `a persistent cache is too old after writes that came before it was opened`()
    async throws
  {
    let folder = try Folder(connector(1000))
    defer { try? FileManager.default.removeItem(atPath: folder.path) }
    let firestore = try folder.open("films.hearth")
    let ada = DataConnectAuth(uid: "ada")
    do {
      let first = folder.connector(firestore)
      try await save("a", first)
      _ = try await list(first)
      try await DataConnect.withAuth(ada) { _ = try await list(first) }
    }
    #expect(try await list(folder.connector(firestore)).source == .cache)
    // The next session writes first, as nobody: ada's cache is not open.
    let second = folder.connector(firestore)
    try await save("b", second)
    for auth in [nil, ada] {
      let found = try await DataConnect.withAuth(auth) { try await list(second) }
      #expect(found.source == .server && found.data["movies"]?.elements?.first?["kind"] == "b")
      #expect(try await DataConnect.withAuth(auth) { try await list(second) }.source == .cache)
    }
    // Through Firestore's interface, between two sessions.
    try await firestore.document("movie/Dune").updateData(["genre": "c"])
    let found = try await list(folder.connector(firestore))
    #expect(found.source == .server && found.data["movies"]?.elements?.first?["kind"] == "c")
    try await firestore.terminate()
  }

  @Test(arguments: ["Get", "GetAndList"])
  func `a row that was not there is read again after it was inserted`(name: String) async throws {
    let connector = try connector(1000)
    let movie = connector.reference(name, ["name": "Dune"])
    #expect(try await movie.execute().data["movie"] == DataValue.null)
    try await connector.mutate("Save", ["name": "Heat"])
    #expect(try await movie.execute().source == .cache)
    try await connector.mutate("Save", ["name": "Dune"])
    let found = try await movie.execute()
    #expect(found.source == .server && found.data["movie"]?["name"] == "Dune")
    // A reading that has begun before the insert is not stored after it.
    let service = try connector.dataConnect.service()
    let cache = try #require(try connector.dataConnect.cache(service))
    let reading = await cache.beginReading()
    let late = try await service.query(name, ["name": "Alien"], nil, marksRows: true)
    try await connector.mutate("Save", ["name": "Alien"])
    #expect(late.fields["movie"] == .null && late.lookups == [RowIdentity("movie", "Alien")])
    #expect(
      try await cache.store(late.fields, lookups: late.lookups, for: "late", reading) == [])
    #expect(try await cache.result("late") == nil)
  }

  @Test func `documents of the runtime itself leave a persistent cache young`() async throws {
    let folder = try Folder(connector(1000))
    defer { try? FileManager.default.removeItem(atPath: folder.path) }
    let firestore = try folder.open("films.hearth")
    let first = folder.connector(firestore)
    try await save("a", first)
    _ = try await list(first)
    // As a process does whose lease is renewed.
    try await firestore.collection(SignalExchange.collection).document("other")
      .setData(["at": 1])
    for _ in 0..<2 {
      #expect(try await list(folder.connector(firestore)).source == .cache)
    }
    try await firestore.document("movie/Dune").updateData(["genre": "b"])
    #expect(try await list(folder.connector(firestore)).source == .server)
    try await firestore.terminate()
  }

  @Test(
    .timeLimit(patience), .embedded("The helper opens a file."),
    arguments: [CacheSettings.Storage.memory, .persistent])
  func `mutations of another process make results too old, also by a filter`(
    storage: CacheSettings.Storage
  ) async throws {
    let connector = try connector(1000, storage)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let process = try OperationProcess(connector.connector, on: connector.database.path)
    defer { process.stop() }
    let client = try connector.emulatorClient(port: process.port)
    let reference = connector.reference("Get", ["name": "Dune"])
    let mutations: [(name: String, variables: DataObject)] = [
      ("Save", ["name": "Dune", "genre": "b"]), ("SetAll", ["genre": "c"]),
    ]
    for (name, variables) in mutations {
      try await reference.execute()
      #expect(try await reference.execute().source == .cache)
      #expect(try await client.mutate(name, variables, nil).errors.isEmpty)
      try await eventually { try await reference.execute().source != .cache }
      #expect(reference.data?["movie"]?["genre"] == variables["genre"])
    }
  }

  @Test func `a result that was read before a mutation is not stored after it`() async throws {
    let connector = try connector(1000)
    try await connector.mutate("Save", ["name": "Dune", "genre": "a"])
    let service = try connector.dataConnect.service()
    let cache = try #require(try connector.dataConnect.cache(service))
    let list = connector.reference("List")
    try await list.execute()
    let reading = await cache.beginReading()
    let late = try await service.query("List", [:], nil, marksRows: true)
    try await connector.mutate("Save", ["name": "Dune", "genre": "b"])
    try await list.execute()
    let request = "\(service.databaseName)\nList {}"
    #expect(try await cache.result(request)?.fields["movies"] == list.data?["movies"])
    #expect(try await cache.store(late.fields, for: request, reading) == [])
    let found = try await list.execute()
    #expect(found.source == .cache && found.data["movies"]?.elements?.first?["kind"] == "b")
    // A reading that begins later is stored again, also after the invalidation of everything.
    try await cache.invalidateAll()
    #expect(try await list.execute().source == .server)
    #expect(try await list.execute().source == .cache)
  }

  // MARK: Texts

  @Test func `texts with other bytes are other variables, users and rows`() async throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    #expect(composed == decomposed, "Swift's texts are equal.")
    let connector = try TestConnector(
      schema: """
        type Movie @table(key: "name") { name: String!  kind: Kind }
        enum Kind { A B }
        """,
      operations: """
        mutation Save($name: String!, $kind: Kind) { movie_upsert(data: {name: $name, kind: $kind}) }
        query Get($name: String!) { movie(key: {name: $name}) { kind } }
        query List { movies(orderBy: [{kind: ASC}]) { kind } }
        """,
      settings: DataConnectSettings(cacheSettings: CacheSettings(storage: .memory, maxAge: 1000)))
    try await connector.mutate("Save", ["name": .string(composed), "kind": "A"])
    try await connector.mutate("Save", ["name": .string(decomposed), "kind": "B"])
    let first = connector.reference("Get", ["name": .string(composed)])
    let second = connector.reference("Get", ["name": .string(decomposed)])
    #expect(first !== second)
    for _ in 0..<2 {
      #expect(try await first.execute().data == ["movie": ["kind": "A"]])
      #expect(try await second.execute().data == ["movie": ["kind": "B"]])
      #expect(
        try await connector.reference("List").execute().data
          == ["movies": [["kind": "A"], ["kind": "B"]]])
    }
    // Both caches' results are noticed, and only the one that was written.
    try await connector.mutate("Save", ["name": .string(decomposed), "kind": "A"])
    #expect(try await first.execute().source == .cache)
    #expect(try await second.execute().data == ["movie": ["kind": "A"]])
    let rows: Set = [RowIdentity("movie", composed), RowIdentity("movie", decomposed)]
    #expect(rows.count == 2)
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
