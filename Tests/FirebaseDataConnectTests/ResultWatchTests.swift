import Foundation
import Hearth
import HearthTesting
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// Subscriptions of a connector that follow the data.
@Suite(.timeLimit(patience)) struct ResultWatchTests {
  private static let schema = """
    type Studio @table(key: "name") { name: String! }
    type Movie @table(key: "title") {
      title: String!
      year: Int!
      number: Int @unique
      plot: String @searchable
      studio: Studio
    }
    type Poster @table(key: "id") {
      id: Int!
      movie: Movie @ref(fields: "film", references: "number")
      film: Int
    }
    """

  private static let operations = """
    mutation AddStudio($name: String!) { studio_upsert(data: {name: $name}) }
    mutation Add($title: String!, $year: Int!, $plot: String, $studio: String) {
      movie_upsert(data: {title: $title, year: $year, plot: $plot, studioName: $studio})
    }
    mutation Age($before: Int!) {
      movie_updateMany(where: {year: {lt: $before}}, data: {year_update: {inc: 1}})
    }
    mutation Delete($title: String!) { movie_delete(title: $title) }
    query One { movie(title: "Alien") { year } }
    query First { movie(first: {where: {year: {gt: 1980}}, orderBy: [{year: ASC}]}) { title } }
    query New { movies(where: {year: {ge: 1990}}, orderBy: [{year: DESC}], limit: 2) { title } }
    query Studios { studios { name movies_on_studio(orderBy: [{year: ASC}], limit: 1) { title } } }
    query ByYear { movies(orderBy: [{year: ASC}]) { year _count } }
    query Words { movies_search(query: "space") { title } }
    query Without { movies_search(query: "space -sea or the") { title } }
    query Counted { studios(where: {movies_on_studio: {count: {gt: 1}}}) { name } }
    query FirstCounted { studio(first: {where: {movies_on_studio: {count: {gt: 1}}}}) { name } }
    query Groups { studios { name movies_on_studio { _count } } }
    query WordsByYear { movies_search(query: "space", orderBy: [{year: DESC}]) { title } }
    query Relevant { movies_search(query: "space", relevanceThreshold: 0.0001) { title } }
    query Posters { posters { id movie { title } } }
    query Sorted {
      studios { movies_on_studio(orderBy: [{studio: {name: ASC}}, {year: DESC}]) { title } }
    }
    query ByStudio { movies(orderBy: [{studio: {name: ASC}}, {title: ASC}]) { title } }
    """

  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: Self.schema, operations: Self.operations,
      settings: DataConnectSettings(refreshesOnChange: true))
  }

  private func add(_ title: String, _ year: Int64, _ plot: String, _ studio: String?) async throws {
    try await connector.mutate(
      "Add",
      [
        "title": .string(title), "year": .int(year), "plot": .string(plot),
        "studio": studio.map { .string($0) } ?? .null,
      ])
  }

  /// The results that a subscription delivers while `body` runs and until the last of them is `end`.
  private func results(
    _ query: String, until end: DataValue, _ body: () async throws -> Void
  ) async throws -> [DataValue] {
    let subscription = try await connector.reference(query).subscribe()
    var iterator = subscription.makeAsyncIterator()
    var found: [DataValue] = []
    while found.last != end, let result = await iterator.next() {
      found.append(try #require(try result.get().data).fields?.values.first ?? .null)
      if found.count == 1 { try await body() }
    }
    return found
  }

  @Test func `a closure is called on the queue that was named, and not after the end`()
    async throws
  {
    let key = DispatchSpecificKey<Bool>()
    let queue = DispatchQueue(label: "results")
    queue.setSpecific(key: key, value: true)
    let operations = OperationQueue()
    operations.underlyingQueue = queue
    for isOperationQueue in [false, true] {
      let subscription = try await connector.reference("Studios").subscribe()
      let named =
        isOperationQueue
        ? subscription.receive(on: operations) : subscription.receive(on: queue)
      let (calls, call) = AsyncStream<(isOnQueue: Bool, text: String)>.makeStream()
      let sink = named.sink { result in
        call.yield((DispatchQueue.getSpecific(key: key) == true, "\(result)"))
      }
      var iterator = calls.makeAsyncIterator()
      #expect(await iterator.next()?.isOnQueue == true)
      // A result that waits for its queue when the subscription ends is not delivered.
      queue.suspend()
      try await connector.mutate("AddStudio", ["name": .string("late \(isOperationQueue)")])
      try await quietTime(.milliseconds(100))
      sink.cancel()
      queue.resume()
      queue.sync {}
      call.finish()
      while let (isOnQueue, text) = await iterator.next() {
        #expect(isOnQueue && !text.contains("late \(isOperationQueue)"))
      }
    }
  }

  @Test func `every change that alters a result refreshes it, whoever makes it`() async throws {
    try await connector.mutate("AddStudio", ["name": "Fox"])
    try await add("Alien", 1979, "Fear in space", "Fox")
    let movies = connector.firestore.collection("movie")
    let fox = connector.firestore.collection("studio").document("Fox")
    // A mutation with a filter sends no signal of its own.
    #expect(
      try await results("One", until: ["year": 1980]) {
        try await connector.mutate("Age", ["before": 1980])
      }.first == ["year": 1979])
    #expect(
      try await results("First", until: ["title": "Brazil"]) {
        try await movies.document("Brazil").setData(["title": "Brazil", "year": 1985])
      }.first == .null)
    #expect(
      try await results("New", until: [["title": "Solaris"]]) {
        try await movies.document("Solaris").setData(["title": "Solaris", "year": 2002])
      }.first == [])
    #expect(
      try await results(
        "Studios", until: [["name": "Fox", "movies_on_studio": [["title": "Aliens"]]]]
      ) {
        try await movies.document("Aliens").setData([
          "title": "Aliens", "year": 1900, "studio": fox,
        ])
      }.first == [["name": "Fox", "movies_on_studio": [["title": "Alien"]]]])
    #expect(
      try await results(
        "ByYear", until: [["year": 1980, "_count": 1], ["year": 2002, "_count": 2]]
      ) {
        try await connector.firestore.write { writer in
          try writer.deleteDocument(movies.document("Aliens"))
          try writer.updateData(["year": 2002], forDocument: movies.document("Brazil"))
        }
      }.first?.elements?.count == 4)
    #expect(
      try await results("Words", until: [["title": "Alien"], ["title": "Solaris"]]) {
        try await movies.document("Solaris").updateData(["plot": "A sea far away in deep space"])
      }.first == [["title": "Alien"]])
  }

  @Test func `parts without a listener follow all tables`() async throws {
    try await connector.mutate("AddStudio", ["name": "Fox"])
    try await add("Alien", 1979, "", "Fox")
    let movies = connector.firestore.collection("movie")
    let fox = connector.firestore.collection("studio").document("Fox")
    #expect(
      try await results("Counted", until: [["name": "Fox"]]) {
        try await movies.document("Aliens").setData([
          "title": "Aliens", "year": 1986, "studio": fox,
        ])
      }.first == [])
    try await movies.document("Aliens").delete()
    #expect(
      try await results("FirstCounted", until: ["name": "Fox"]) {
        try await movies.document("Aliens").setData([
          "title": "Aliens", "year": 1986, "studio": fox,
        ])
      }.first == .null)
    #expect(
      try await results("Groups", until: [["name": "Fox", "movies_on_studio": [["_count": 1]]]]) {
        try await movies.document("Aliens").delete()
      }.first == [["name": "Fox", "movies_on_studio": [["_count": 2]]]])
    #expect(
      try await results("ByStudio", until: [["title": "Zulu"], ["title": "Alien"]]) {
        try await movies.document("Zulu").setData(["title": "Zulu", "year": 1964])
      }.first == [["title": "Alien"]])
  }

  @Test func `searches in an order, sorted relations and rows by unique columns are followed`()
    async throws
  {
    try await connector.mutate("AddStudio", ["name": "Fox"])
    try await add("Alien", 1979, "Fear in space", "Fox")
    let movies = connector.firestore.collection("movie")
    let fox = connector.firestore.collection("studio").document("Fox")
    for (query, ids) in [
      ("WordsByYear", ["Moon", "Alien"]), ("Relevant", ["Alien", "Moon"]),
    ] {
      try await movies.document("Moon").delete()
      let end = DataValue.list(ids.map { ["title": .string($0)] })
      #expect(
        try await results(query, until: end) {
          try await movies.document("Moon").setData([
            "title": "Moon", "year": 2009, "plot": "A long time alone and far away in space",
          ])
        }.first == [["title": "Alien"]])
    }
    #expect(
      try await results("Without", until: [["title": "Alien"]]) {
        try await movies.document("Moon").updateData(["plot": "A sea in space"])
      }.first?.elements?.count == 2)
    #expect(
      try await results(
        "Sorted", until: [["movies_on_studio": [["title": "Moon"], ["title": "Alien"]]]]
      ) {
        try await movies.document("Moon").updateData(["studio": fox])
      }.first == [["movies_on_studio": [["title": "Alien"]]]])
    try await connector.firestore.document("poster/1").setData(["id": 1, "film": 7])
    #expect(
      try await results("Posters", until: [["id": 1, "movie": ["title": "Moon"]]]) {
        try await movies.document("Moon").updateData(["number": 7])
      }.first == [["id": 1, "movie": nil]])
  }

  @Test func `a change that does not alter the result refreshes nothing`() async throws {
    try await add("Alien", 1979, "", nil)
    let runs = Mutex(0)
    let service = try connector.dataConnect.service()
    let subscription = try await service.subscribe("New", [:], nil) { runs.withLock { $0 += 1 } }
    defer { subscription.cancel() }
    try await add("Brazil", 1985, "", nil)
    try await connector.mutate("Age", ["before": 1989])
    try await add("Cube", 1997, "", nil)
    try await eventually { runs.withLock { $0 > 0 } }
    #expect(runs.withLock(\.self) == 1)
  }

  @Test func `a cancelled subscription has no listeners, and without the setting there are none`()
    async throws
  {
    let runs = Mutex(0)
    let service = try connector.dataConnect.service()
    let subscription = try await service.subscribe("New", [:], nil) { runs.withLock { $0 += 1 } }
    try await expectListeners(1, connector)
    try await add("Cube", 1997, "", nil)
    try await eventually { runs.withLock { $0 > 0 } }
    subscription.cancel()
    try await expectListeners(0, connector)
    // A later subscription sees the change.
    let laterRuns = Mutex(0)
    let later = try await service.subscribe("New", [:], nil) { laterRuns.withLock { $0 += 1 } }
    try await add("Them", 1998, "", nil)
    try await eventually { laterRuns.withLock { $0 > 0 } }
    later.cancel()
    #expect(runs.withLock(\.self) == 1)
    let other = try TestConnector(connector.connector, TemporaryDatabase())
    let plain = try await other.dataConnect.service().subscribe("New", [:], nil) {}
    try await expectListeners(0, other)
    plain.cancel()
  }

  private func expectListeners(_ count: Int, _ connector: TestConnector) async throws {
    // Only a file counts its listeners.
    if !TestStore.isFile { return }
    #expect(try await connector.firestore.listenerStatistics().listeners == count)
  }
}
