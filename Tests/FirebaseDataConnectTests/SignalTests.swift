import Foundation
import Hearth
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// The signals that refresh subscriptions: implicit ones by key, and those of `@refresh`.
@Suite struct SignalTests {
  static let schema = """
    type Movie @table(key: "id") {
      id: UUID! @default(expr: "uuidV4()")
      title: String
      genre: String
      status: String
    }
    type Profile @table(key: "id") {
      id: String!
      status: String
      photoUrl: String
      socialLink: String
    }
    """

  static let operations = """
    query ById($id: UUID!) { movie(id: $id) { id title } }
    query ByKeyInput($key: Movie_Key!) { movie(key: $key) { id title } }
    query ByKeyLiteral($id: UUID!) { movie(key: {id: $id}) { id title } }
    query ByLiteral { movie(id: "00000000-0000-0000-0000-000000000001") { id title } }
    query First { movie(first: {orderBy: [{id: ASC}]}) { id title } }
    query Two($a: UUID!, $b: UUID!) { a: movie(id: $a) { title } b: movie(id: $b) { title } }
    query List { movies { id title } }
    query Mixed($id: UUID!) { movie(id: $id) { title } movies { title } }

    mutation Insert($id: UUID!) { movie_insert(data: {id: $id, title: "x"}) }
    mutation InsertMany($id: UUID!) { movie_insertMany(data: [{id: $id, title: "x"}]) }
    mutation Upsert($id: UUID!) { movie_upsert(data: {id: $id, title: "x"}) }
    mutation UpsertMany($id: UUID!) { movie_upsertMany(data: [{id: $id, title: "x"}]) }
    mutation Update($id: UUID!) { movie_update(id: $id, data: {title: "x"}) }
    mutation UpdateFirst($id: UUID!) {
      movie_update(first: {where: {id: {eq: $id}}}, data: {title: "x"})
    }
    mutation Delete($id: UUID!) { movie_delete(key: {id: $id}) }
    mutation UpdateMany($id: UUID!) { movie_updateMany(where: {id: {eq: $id}}, data: {title: "x"}) }
    mutation DeleteMany($id: UUID!) { movie_deleteMany(where: {id: {eq: $id}}) }
    mutation UpsertTwo($a: UUID!, $b: UUID!) {
      a: movie_upsert(data: {id: $a, title: "x"})
      b: movie_upsert(data: {id: $b, title: "x"})
    }
    mutation UpsertAndFail($a: UUID!, $b: UUID!) {
      a: movie_upsert(data: {id: $a, title: "x"})
      b: movie_upsert(data: {id: $b, title: "x"})
      c: movie_insert(data: {id: $a, title: "again"})
    }
    mutation Fails($id: UUID!) @transaction {
      movie_update(id: $id, data: {title: "y"})
      movie_insert(data: {id: $id, title: "again"})
    }

    query GetExtendedProfileByUser @auth(level: USER) {
      profile(key: { id_expr: "auth.uid" }) {
        id
        status
        photoUrl
        socialLink
      }
    }

    mutation UpsertExtendedProfile($status: String, $photoUrl: String, $socialLink: String) @auth(level: USER) {
      profile_upsert(
        data: {
          id_expr: "auth.uid"
          status: $status
          photoUrl: $photoUrl
          socialLink: $socialLink
        }
      ) {
        id
        status
        photoUrl
        socialLink
      }
    }

    mutation UpdateMovie($id: UUID, $genre: String, $status: String, $isPublic: Boolean) {
      movie_upsert(data: {id: $id, genre: $genre, status: $status})
    }
    mutation BulkUpdateMovies { movie_updateMany(all: true, data: {status: "x"}) }

    query OnAny($offset: Int) @refresh(onMutationExecuted: { operation: "UpdateMovie" }) {
      movies(limit: 10, offset: $offset) { id }
    }
    query OnGenre($genre: String, $offset: Int)
      @refresh(onMutationExecuted: {
        operation: "UpdateMovie",
        condition: "request.variables.genre == mutation.variables.genre"
      }) { movies(where: { genre: { eq: $genre } }, limit: 10, offset: $offset) { id } }
    query OnSameId($id: UUID)
      @refresh(onMutationExecuted: {
        operation: "UpdateMovie", condition: "request.variables.id == mutation.variables.id"
      }) { movies(where: {id: {eq: $id}}) { id } }
    query OnSameUser
      @refresh(onMutationExecuted: {
        operation: "UpdateMovie", condition: "request.auth.uid == mutation.auth.uid"
      }) { movies { id } }
    query OnPublished
      @refresh(onMutationExecuted: {
        operation: "UpdateMovie",
        condition: "request.auth.uid == mutation.auth.uid && mutation.variables.status == 'PUBLISHED'"
      }) { movies { id } }
    query OnPublic
      @refresh(onMutationExecuted: {
        operation: "UpdateMovie", condition: "mutation.variables.isPublic == true"
      }) { movies { id } }
    query OnTwo
      @refresh(every: {seconds: 30})
      @refresh(onMutationExecuted: { operation: "UpdateMovie" })
      @refresh(onMutationExecuted: { operation: "BulkUpdateMovies" }) { movies { id } }
    query OnFailingCondition
      @refresh(onMutationExecuted: {
        operation: "UpdateMovie", condition: "mutation.variables.genre.size() > 100 / 0"
      }) { movies { id } }
    query OnSameTime($at: Timestamp)
      @refresh(onMutationExecuted: {
        operation: "Stamp", condition: "request.variables.at == mutation.variables.at"
      }) { movies { id } }
    query OnGiven($genre: String)
      @refresh(onMutationExecuted: { operation: "Stamp", condition: "has(request.variables.genre)" }) {
      movies { id }
    }
    query OnSameToken
      @refresh(onMutationExecuted: {
        operation: "Stamp", condition: "request.auth.token == mutation.auth.token"
      }) { movies { id } }
    mutation Stamp($at: Timestamp) { profile_upsert(data: {id: "x"}) }
    mutation UpsertExpr @auth(level: PUBLIC) {
      movie_upsert(data: {id_expr: "'00000000-0000-0000-0000-00000000000' + '1'", title: "x"})
    }
    mutation UpdateExpr @auth(level: PUBLIC) {
      movie_update(id_expr: "'00000000-0000-0000-0000-00000000000' + '1'", data: {title: "x"})
    }
    mutation DeleteExpr @auth(level: PUBLIC) {
      movie_delete(key: {id_expr: "'00000000-0000-0000-0000-00000000000' + '1'"})
    }
    mutation OtherTable($id: String!) { profile_upsert(data: {id: $id, status: "x"}) }
    mutation OtherTableDelete($id: String!) { profile_delete(key: {id: $id}) }
    query Often @refresh(every: {milliseconds: 40}) { movies { id } }
    """

  private let connector: TestConnector
  private static let one = "00000000000000000000000000000001"
  private static let two = "00000000000000000000000000000002"

  init() throws {
    connector = try TestConnector(schema: Self.schema, operations: Self.operations)
  }

  /// Whether a mutation causes a refresh. Waits for one that is expected.
  private func refreshes(
    of query: String, _ variables: DataObject, auth: DataConnectAuth? = nil,
    by mutation: String, _ mutationVariables: DataObject, as writer: DataConnectAuth? = nil,
    isExpected: Bool
  ) async throws -> Bool {
    let service = try connector.dataConnect.service()
    let runs = Runs()
    let subscription = try await service.subscribe(query, variables, auth) { runs.add() }
    defer { subscription.cancel() }
    _ = try await service.mutate(mutation, mutationVariables, writer)
    if isExpected { return try await becomesTrue { runs.count > 0 } }
    // A refresh begins when the mutation returns.
    try await quietTime()
    return runs.count > 0
  }

  @Test func `a query by key is refreshed by every write of this key`() async throws {
    let queries: [(String, DataObject)] = [
      ("ById", ["id": .string(Self.one)]),
      ("ByKeyInput", ["key": ["id": "00000000-0000-0000-0000-000000000001"]]),
      ("ByKeyLiteral", ["id": .string(Self.one)]), ("ByLiteral", [:]),
      ("Two", ["a": .string(Self.two), "b": .string(Self.one)]),
    ]
    let mutations = [
      ("Insert", true), ("InsertMany", true), ("Upsert", true), ("UpsertMany", true),
      ("Update", true), ("UpdateFirst", true), ("Delete", true), ("UpdateMany", false),
      ("DeleteMany", false), ("Fails", false),
    ]
    for (query, variables) in queries {
      for (mutation, isSignal) in mutations {
        for (id, isSame) in [(Self.one, true), ("00000000000000000000000000000009", false)] {
          let exists = !mutation.hasPrefix("Insert")
          try await connector.mutate("DeleteMany", ["id": .string(id)])
          if exists { try await connector.mutate("Upsert", ["id": .string(id)]) }
          let isRefreshed = try await refreshes(
            of: query, variables, by: mutation, ["id": .string(id)],
            isExpected: isSignal && isSame)
          #expect(isRefreshed == (isSignal && isSame), "\(query) by \(mutation) of \(id)")
        }
      }
    }
  }

  @Test(arguments: ["UpsertTwo", "UpsertAndFail"])
  func `each field that a mutation commits signals its rows`(mutation: String) async throws {
    let written: DataObject = ["a": .string(Self.one), "b": .string(Self.two)]
    for (id, isWritten) in [
      (Self.one, true), (Self.two, true), ("00000000000000000000000000000009", false),
    ] {
      let isRefreshed = try await refreshes(
        of: "ById", ["id": .string(id)], by: mutation, written, isExpected: isWritten)
      #expect(isRefreshed == isWritten, "\(id)")
    }
  }

  @Test func `keys of expressions are signals as others are, and those of other tables are none`()
    async throws
  {
    let queries: [(String, DataObject)] = [
      ("ById", ["id": .string(Self.one)]),
      ("ByKeyInput", ["key": ["id": "00000000-0000-0000-0000-000000000001"]]), ("ByLiteral", [:]),
    ]
    let mutations: [(String, DataObject, Bool)] = [
      ("UpsertExpr", [:], true), ("UpdateExpr", [:], true), ("DeleteExpr", [:], true),
      // The same key in another table.
      ("OtherTable", ["id": .string(Self.one)], false),
      ("OtherTableDelete", ["id": .string(Self.one)], false),
    ]
    for (query, variables) in queries {
      for (mutation, written, isSignal) in mutations {
        try await connector.mutate("Upsert", ["id": .string(Self.one)])
        let isRefreshed = try await refreshes(
          of: query, variables, by: mutation, written, isExpected: isSignal)
        #expect(isRefreshed == isSignal, "\(query) by \(mutation)")
      }
    }
  }

  @Test func `a query that reads anything else has no implicit signal`() async throws {
    try await connector.mutate("Upsert", ["id": .string(Self.one)])
    for (query, variables) in [
      ("First", [:]), ("List", [:]), ("Mixed", ["id": .string(Self.one)] as DataObject),
    ] {
      #expect(
        try await !refreshes(
          of: query, variables, by: "Update", ["id": .string(Self.one)], isExpected: false))
    }
  }

  @Test func `keys are compared by their values, also those of the user`() async throws {
    func user(_ id: String) -> DataConnectAuth {
      DataConnectAuth(uid: id, token: ["firebase": ["sign_in_provider": "password"]])
    }
    let result = try await connector.mutate(
      "UpsertExtendedProfile", ["status": "here"], auth: user("ada"))
    #expect(
      result["profile_upsert"] == [
        "id": "ada", "status": "here", "photoUrl": nil, "socialLink": nil,
      ])
    let profile = try await connector.query("GetExtendedProfileByUser", auth: user("ada"))
    #expect(profile["profile"]?["status"] == "here")
    #expect(
      try await refreshes(
        of: "GetExtendedProfileByUser", [:], auth: user("ada"), by: "UpsertExtendedProfile", [:],
        as: user("ada"), isExpected: true))
    #expect(
      try await !refreshes(
        of: "GetExtendedProfileByUser", [:], auth: user("ada"), by: "UpsertExtendedProfile", [:],
        as: user("bob"), isExpected: false))
    let denied = await message { try await connector.mutate("UpsertExtendedProfile") }
    #expect(denied.contains("permission denied"))
    let anonymous = DataConnectAuth(
      uid: "x", token: ["firebase": ["sign_in_provider": "anonymous"]])
    #expect(
      await message { try await connector.mutate("UpsertExtendedProfile", auth: anonymous) }
        .contains("permission denied"))
  }

  @Test func `a strict connector refuses operations without @auth`() async throws {
    let strict = try TestConnector(
      schema: Self.schema, operations: Self.operations,
      settings: DataConnectSettings(isStrict: true))
    let refused = await message { _ = try await strict.query("List") }
    #expect(refused.contains("The operation List has no @auth"), "\(refused)")
    let mutation = await message {
      try await strict.mutate("Insert", ["id": "00000000000000000000000000000001"])
    }
    #expect(mutation.contains("The operation Insert has no @auth"), "\(mutation)")
    let ada = DataConnectAuth(uid: "ada", token: ["firebase": ["sign_in_provider": "password"]])
    try await strict.mutate("UpsertExtendedProfile", auth: ada)
    #expect(try await strict.firestore.collection("movie").getDocuments().isEmpty)
  }

  @Test func `a mutation that is named refreshes, if the condition holds`() async throws {
    let ada = DataConnectAuth(uid: "ada")
    let bob = DataConnectAuth(uid: "bob")
    let cases:
      [(
        query: String, variables: DataObject, reader: DataConnectAuth?, mutation: String,
        written: DataObject, writer: DataConnectAuth?, isRefreshed: Bool
      )] = [
        ("OnAny", [:], nil, "UpdateMovie", ["genre": "a"], nil, true),
        ("OnAny", ["offset": 10], nil, "UpdateMovie", ["genre": "a"], nil, true),
        ("OnAny", [:], nil, "Insert", ["id": "00000000000000000000000000000031"], nil, false),
        ("OnGenre", ["genre": "a"], nil, "UpdateMovie", ["genre": "a"], nil, true),
        ("OnGenre", ["genre": "a"], nil, "UpdateMovie", ["genre": "b"], nil, false),
        ("OnGenre", [:], nil, "UpdateMovie", ["genre": nil], nil, true),
        (
          "OnSameId", ["id": "00000000-0000-0000-0000-000000000032"], nil, "UpdateMovie",
          ["id": "00000000000000000000000000000032"], nil, true
        ),
        (
          "OnSameId", ["id": "00000000-0000-0000-0000-000000000033"], nil, "UpdateMovie",
          ["id": "00000000000000000000000000000034"], nil, false
        ),
        ("OnSameUser", [:], ada, "UpdateMovie", [:], ada, true),
        ("OnSameUser", [:], ada, "UpdateMovie", [:], bob, false),
        ("OnSameUser", [:], ada, "UpdateMovie", [:], nil, false),
        ("OnPublished", [:], ada, "UpdateMovie", ["status": "PUBLISHED"], ada, true),
        ("OnPublished", [:], ada, "UpdateMovie", ["status": "DRAFT"], ada, false),
        ("OnPublished", [:], ada, "UpdateMovie", ["status": "PUBLISHED"], bob, false),
        ("OnPublic", [:], nil, "UpdateMovie", ["isPublic": true], nil, true),
        ("OnPublic", [:], nil, "UpdateMovie", ["isPublic": false], nil, false),
        ("OnPublic", [:], nil, "UpdateMovie", [:], nil, false),
        ("OnTwo", [:], nil, "UpdateMovie", [:], nil, true),
        ("OnTwo", [:], nil, "BulkUpdateMovies", [:], nil, true),
        ("OnGiven", [:], nil, "Stamp", [:], nil, false),
        ("OnGiven", ["genre": nil], nil, "Stamp", [:], nil, true),
        ("OnGiven", ["genre": "a"], nil, "Stamp", [:], nil, true),
        (
          "OnSameTime", ["at": "2026-01-02T03:04:05.000006Z"], nil, "Stamp",
          ["at": "2026-01-02T04:04:05.000006+01:00"], nil, true
        ),
        ("OnFailingCondition", [:], nil, "UpdateMovie", ["genre": "a"], nil, false),
      ]
    for one in cases {
      let isRefreshed = try await refreshes(
        of: one.query, one.variables, auth: one.reader, by: one.mutation, one.written,
        as: one.writer,
        isExpected: one.isRefreshed)
      #expect(
        isRefreshed == one.isRefreshed,
        "\(one.query) \(one.variables.names) by \(one.mutation) \(one.written)")
    }
  }

  @Test
  func `a query with an interval is run again while somebody subscribes, also without changes`()
    async throws
  {
    let service = try connector.dataConnect.service()
    let runs = Runs()
    let subscription = try await service.subscribe("Often", [:], nil) { runs.add() }
    try await eventually { runs.count >= 3 }
    subscription.cancel()
    let count = runs.count
    // A later subscription has the same interval, and is run three times.
    let laterRuns = Runs()
    let later = try await service.subscribe("Often", [:], nil) { laterRuns.add() }
    try await eventually { laterRuns.count >= 3 }
    later.cancel()
    #expect(runs.count <= count + 1)
  }

  @Test func `signals during a refresh are one refresh after it`() async throws {
    let service = try connector.dataConnect.service()
    let runs = Runs()
    let gate = AsyncStream.makeStream(of: Void.self)
    let subscription = try await service.subscribe("ById", ["id": .string(Self.one)], nil) {
      runs.add()
      if runs.count == 1 { for await _ in gate.stream { break } }
    }
    for _ in 0..<10 { _ = try await service.mutate("Upsert", ["id": .string(Self.one)], nil) }
    while runs.count == 0 { await Task.yield() }
    gate.continuation.yield()
    while runs.count < 2 { await Task.yield() }
    try await quietTime()
    #expect(runs.count == 2)
    subscription.cancel()
  }

  @Test func `a subscription ends when nobody has it`() async throws {
    let hub = SubscriptionHub.shared(for: connector.firestore)
    let reference = connector.reference("ById", ["id": .string(Self.one)])
    do {
      let subscription = try await reference.subscribe()
      #expect(hub.count == 1)
      let cancellable = subscription.sink { _ in }
      cancellable.cancel()
    }
    try await eventually { hub.count == 0 }
    try await connector.mutate("Upsert", ["id": .string(Self.one)])
    #expect(try await reference.execute(fetchPolicy: .serverOnly).data["movie"]?["title"] == "x")
    #expect(reference.data?["movie"]?["title"] == "x" && hub.count == 0)
  }
}

/// Counts calls.
private final class Runs: Sendable {
  private let number = Mutex(0)

  var count: Int { number.withLock(\.self) }
  func add() { number.withLock { $0 += 1 } }
}
