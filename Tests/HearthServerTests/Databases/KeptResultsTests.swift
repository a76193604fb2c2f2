#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import MetricsTestKit
  import SwiftProtobuf
  import Testing

  @testable import HearthEngine
  @testable import HearthServer

  /// Results that their clients read slowly have bounded memory, and nobody waits or gets other documents
  /// because of it.
  @Suite struct KeptResultsTests {
    private static func result(_ name: String, _ sizes: [Int]) throws -> [StoredDocument] {
      try sizes.enumerated().map { number, size in
        let text = String(repeating: "x", count: size)
        return StoredDocument(
          path: ResourcePath([name, "\(number)"]), sequence: 1,
          createTime: Instant(microseconds: 1), updateTime: Instant(microseconds: 1),
          body: try DocumentBody(encoding: MapValue([("s", .string(text))])))
      }
    }

    @Test func `a limit may be as large as a number can be`() throws {
      let results = KeptResults(limit: .max)
      let documents = try Self.result("a", Array(repeating: 10, count: 100))
      let kept = KeptResult(documents, of: .paths(documents.map(\.path)), in: results)
      #expect(kept.count == 100)
    }

    @Test func `the results that were read first are dropped, and never the last one`()
      async throws
    {
      try await TestServer.run { server in
        let database = try await server.catalog.use(
          DatabaseName(TestServer.database), for: .reading)
        let time = try await database.newestTime()
        let room = AnswerRoom()
        let results = KeptResults(limit: 2_000_000)
        func keep(_ name: String, _ sizes: [Int]) throws -> KeptResult {
          let documents = try Self.result(name, sizes)
          return KeptResult(documents, of: .paths(documents.map(\.path)), in: results)
        }
        let a = try keep("a", [500_000, 10, 500_000, 500_000])
        #expect((1_500_000..<1_502_000).contains(results.bytes))
        var b: KeptResult? = try keep("b", [700_000, 700_000])
        #expect((1_400_000..<1_402_000).contains(results.bytes))
        #expect(try await b?.next(room, in: database, at: time).count == 1)
        #expect((700_000..<701_000).contains(results.bytes))
        b = nil
        #expect(results.bytes == 0)
        // Documents without fields have memory, too.
        let c = try keep("c", Array(repeating: 0, count: 1000))
        #expect((100_000..<500_000).contains(results.bytes))
        // It is in memory, and its client may read it now.
        let d = try keep("d", Array(repeating: 50_000, count: 50))
        #expect(c.count == 1000 && (2_500_000..<2_520_000).contains(results.bytes))
        let e = try keep("e", [10])
        #expect(d.count == 50 && (100..<1000).contains(results.bytes))
        #expect(try await e.next(room, in: database, at: time).count == 1)
        // Documents that are not there cannot be read again.
        for result in [a, c, d] {
          let error = await #expect(throws: HearthEngine.Status.self) {
            try await result.next(room, in: database, at: time)
          }
          #expect(error?.code == .aborted)
        }
      }
    }

    // MARK: Slow clients

    private static let documents = 12
    private static let query = ProtoStructuredQuery.with {
      $0.from = [.with { $0.collectionID = "large" }]
    }

    /// Sets all documents; beyond the first version some are deleted.
    private static func fill(_ server: TestServer, version: Int64) async throws {
      for number in 0..<documents {
        let name = TestServer.root + "/large/\(number)"
        _ = try await server.client.commit(
          .with {
            $0.database = TestServer.database
            $0.writes = [
              .with {
                if version > 0, number % 3 == 2 { return $0.delete = name }
                $0.update.name = name
                $0.update.fields = [
                  "n": .with { $0.integerValue = Int64(number) + 1000 * version },
                  "s": .with { $0.stringValue = String(repeating: "\(version)", count: 30_000) },
                  "v": .with {
                    $0.mapValue.fields = [
                      "__type__": .with { $0.stringValue = "__vector__" },
                      "value": .with {
                        $0.arrayValue.values = [
                          .with { $0.doubleValue = Double(number) + 100 * Double(version) }
                        ]
                      },
                    ]
                  },
                ]
              }
            ]
          })
      }
    }

    /// The answers of a call, with something that happens while the client reads the first one.
    private final class Answers<Answer: Sendable>: RPCWriterProtocol {
      let all = Guarded<[Answer]>([])
      let parts = Guarded(0)
      private let meanwhile: @Sendable () async throws -> Void

      init(_ meanwhile: @escaping @Sendable () async throws -> Void) { self.meanwhile = meanwhile }

      func write(_ element: Answer) async throws { try await write(contentsOf: [element]) }

      func write(contentsOf elements: some Sequence<Answer>) async throws {
        let isFirst = all.withLock { all in
          defer { all += elements }
          return all.isEmpty
        }
        parts.withLock { $0 += 1 }
        if isFirst { try await meanwhile() }
      }
    }

    private typealias Call =
      @Sendable (
        FirestoreRPCs, ServerContext, @escaping @Sendable () async throws -> Void
      ) async throws -> [[UInt8]]

    private static func query(
      transaction: Data = Data(), _ change: (inout ProtoStructuredQuery) -> Void = { _ in }
    ) -> Call {
      var asked = query
      change(&asked)
      let request = ProtoRunQueryRequest.with {
        $0.parent = TestServer.root
        $0.structuredQuery = asked
        if !transaction.isEmpty { $0.transaction = transaction }
      }
      return { rpcs, context, meanwhile in
        let answers = Answers<ProtoRunQueryResponse>(meanwhile)
        try await rpcs.runQuery(
          request: request, response: RPCWriter(wrapping: answers), context: context)
        let all = answers.all.withLock(\.self)
        #expect(Set(all.map(\.readTime)).count == 1 && all.count >= documents - 3)
        return try all.map { try $0.document.bytes }
      }
    }

    private static func batch(transaction: Data = Data(), mask: [String] = []) -> Call {
      let request = ProtoBatchGetDocumentsRequest.with {
        $0.database = TestServer.database
        $0.documents = (-2..<documents).map { TestServer.root + "/large/\($0)" }
        if !mask.isEmpty { $0.mask.fieldPaths = mask }
        if !transaction.isEmpty { $0.transaction = transaction }
      }
      return { rpcs, context, meanwhile in
        let answers = Answers<ProtoBatchGetDocumentsResponse>(meanwhile)
        try await rpcs.batchGetDocuments(
          request: request, response: RPCWriter(wrapping: answers), context: context)
        let all = answers.all.withLock(\.self)
        #expect(Set(all.map(\.readTime)).count == 1 && all.count == documents + 2)
        #expect(all.suffix(2).map(\.missing) == Array(request.documents.prefix(2)))
        return try all.map { try $0.found.bytes }
      }
    }

    /// Runs calls whose results are kept up to a limit.
    private static func run(
      _ call: Call, _ server: TestServer, limit: Int,
      _ meanwhile: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> [[UInt8]] {
      let results = KeptResults(limit: limit)
      let rpcs = FirestoreRPCs(
        catalog: server.catalog, streams: ListenStreams { _ in }, writeStreams: WriteStreams(),
        results: results, limits: FirestoreServer.Limits())
      return try await withServerContextRPCCancellationHandle { handle in
        let context = ServerContext(
          descriptor: MethodDescriptor(fullyQualifiedService: "s", method: "m"),
          remotePeer: "", localPeer: "", cancellation: handle)
        let others = Guarded<[KeptResult]>([])
        let answers = try await call(rpcs, context) {
          // The last result stays: this is the last one then.
          let other = try result("other", [10])
          let kept = KeptResult(other, of: .paths(other.map(\.path)), in: results)
          others.withLock { $0.append(kept) }
          try await meanwhile()
        }
        others.withLock { $0 = [] }
        #expect(results.bytes == 0)
        return answers
      }
    }

    private static func begin(
      _ server: TestServer, _ change: (inout ProtoTransactionOptions) -> Void
    ) async throws -> Data {
      try await server.client.beginTransaction(
        .with {
          $0.database = TestServer.database
          change(&$0.options)
        }
      ).transaction
    }

    private static func calls(_ server: TestServer) async throws -> [(String, Call)] {
      let readOnly = try await begin(server) { $0.readOnly = .init() }
      let readWrite = try await begin(server) { $0.readWrite = .init() }
      return [
        ("query", query()),
        (
          "projection, backwards",
          query {
            $0.select.fields = ["n", "s"].map { name in .with { $0.fieldPath = name } }
            $0.orderBy = [
              .with {
                $0.field.fieldPath = "n"
                $0.direction = .descending
              }
            ]
          }
        ),
        (
          "nearest",
          query {
            $0.select.fields = ["distance.is", "s"].map { name in .with { $0.fieldPath = name } }
            $0.findNearest = .with {
              $0.vectorField.fieldPath = "v"
              $0.queryVector.mapValue.fields = [
                "__type__": .with { $0.stringValue = "__vector__" },
                "value": .with { $0.arrayValue.values = [.with { $0.doubleValue = 5.3 }] },
              ]
              $0.distanceMeasure = .euclidean
              $0.limit.value = Int32(documents)
              $0.distanceResultField = "distance.is"
            }
          }
        ),
        ("read-only", query(transaction: readOnly)),
        ("read-write", query(transaction: readWrite)),
        ("batch", batch()),
        ("batch with a mask", batch(mask: ["n"])),
        ("batch, read-only", batch(transaction: readOnly)),
        ("batch, read-write", batch(transaction: readWrite)),
        (
          "limit, offset",
          query { asked in
            asked.offset = 2
            asked.limit.value = Int32(documents - 3)
          }
        ),
        (
          "collection group, cursors",
          query { asked in
            asked.from[0].allDescendants = true
            asked.orderBy = [.with { $0.field.fieldPath = "s" }]
            asked.startAt = .with { $0.values = [.with { $0.stringValue = "" }] }
            asked.endAt = .with { $0.values = [.with { $0.stringValue = "~" }] }
          }
        ),
      ]
    }

    @Test
    func `a slow reader gets the documents as of the read time, though all have changed since`()
      async throws
    {
      try await TestServer.run { server in
        try await Self.fill(server, version: 0)
        for index in try await Self.calls(server).indices {
          try await Self.fill(server, version: 0)
          let (name, call) = try await Self.calls(server)[index]
          let expected = try await Self.run(call, server, limit: .max)
          for limit in [1, 100_000] {
            let found = try await Self.run(call, server, limit: limit)
            let isSame = found == expected
            #expect(isSame, "\(name), \(limit)")
          }
          let found = try await Self.run(call, server, limit: 1) {
            try await Self.fill(server, version: 1)
          }
          let isSame = found == expected
          #expect(isSame, "\(name), changed")
        }
      }
    }

    @Test func `a slow reader's call is aborted if the change log has no former versions`()
      async throws
    {
      try await TestServer.run { server in
        try await (server.backend as? EmbeddedBackend)?.setRetention(
          ChangeLogRetention(age: .zero, limitBytes: 0), isDefault: false)
        for name in ["query", "nearest", "batch"] {
          try await Self.fill(server, version: 0)
          let call = try #require(try await Self.calls(server).first { $0.0 == name }).1
          let expected = try await Self.run(call, server, limit: .max)
          let found = try await Self.run(call, server, limit: 1)
          let isSame = found == expected
          #expect(isSame, "\(name)")
          let error = await #expect(throws: HearthEngine.Status.self, "\(name)") {
            try await Self.run(call, server, limit: 1) { try await Self.fill(server, version: 1) }
          }
          #expect(error?.code == .aborted, "\(name)")
        }
      }
    }

    // MARK: Served

    private static func fillLarge(
      _ server: TestServer, _ collection: String, _ count: Int, bytes: Int
    ) async throws {
      for number in 0..<count {
        _ = try await server.client.commit(
          .with {
            $0.database = TestServer.database
            $0.writes = [
              .with {
                $0.update.name = TestServer.root + "/\(collection)/\(number)"
                $0.update.fields["s"] = .with { $0.bytesValue = Data(repeating: 1, count: bytes) }
              }
            ]
          })
      }
    }

    private static func count(
      _ collection: String, _ server: TestServer,
      _ each: @Sendable @escaping (ProtoDocument) async throws -> Void = { _ in }
    ) async throws -> Int {
      try await server.client.runQuery(
        .with {
          $0.parent = TestServer.root
          $0.structuredQuery.from = [.with { $0.collectionID = collection }]
        }
      ) { response in
        var count = 0
        for try await message in response.messages where message.hasDocument {
          try await each(message.document)
          count += 1
        }
        return count
      }
    }

    @Test func `each document of a large result may have calls of its own, over one connection`()
      async throws
    {
      try await TestServer.run({ $0.limits.answerBytes = 1_000_000 }) { server in
        try await Self.fillLarge(server, "large", 40, bytes: 500_000)
        try await Self.fillLarge(server, "huge", 2, bytes: 1_000_000)
        try await Self.fillLarge(server, "small", 300, bytes: 300)
        let count = try await Self.count("large", server) { document in
          let again = try await server.get(document.name)
          #expect(again == document)
          #expect(try await Self.count("small", server) == 300)
          #expect(try await server.get(TestServer.root + "/huge/1").fields.count == 1)
          #expect(
            try await Self.count("huge", server) { _ in
              _ = try await server.get(TestServer.root + "/huge/0")
            } == 2)
        }
        #expect(count == 40)
      }
    }

    @Test func `over REST, a slow reader gets the documents as of the read time`()
      async throws
    {
      try await TestServer.run({ $0.limits.answerBytes = 1 }) { server in
        let count = 16
        let body = #"{"structuredQuery": {"from": [{"collectionId": "large"}]}}"#
        let path = "/v1/" + TestServer.root
        let request =
          "POST \(path):runQuery HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(body.count)\r\n\r\n\(body)"
        try await Self.fillLarge(server, "large", count, bytes: 400_000)
        let clients = try (0..<2).map { _ in
          try SilentClient(Array(request.utf8), port: server.port, room: 1 << 18)
        }
        // The result of one of them is dropped.
        var answers: [[UInt8]] = []
        for client in clients { answers.append(try await client.read { !$0.isEmpty }) }
        try await Self.fillLarge(server, "large", count, bytes: 100)
        for (client, begin) in zip(clients, answers) {
          let rest = try await client.read { $0.suffix(5) == Array("0\r\n\r\n".utf8) }
          let answer = try #require(RESTAnswer(String(decoding: begin + rest, as: UTF8.self)))
          #expect(answer.array.count == count)
          #expect(begin.count + rest.count > count * 400_000 * 4 / 3)
          client.close()
        }
      }
    }

    @Test func `pages of a list are messages of about 1 MiB, with a token for the next one`()
      async throws
    {
      try await TestServer.run { server in
        let count = 12
        try await Self.fillLarge(server, "large", count, bytes: 400_000)
        _ = try await server.set(TestServer.root + "/large/0missing/a/b", 1)
        for showsMissing in [false, true] {
          for isREST in [false, true] {
            var names: [String] = []
            var sizes: [Int] = []
            var token = ""
            repeat {
              if isREST {
                let query = showsMissing ? "&showMissing=true" : ""
                let answer = try await server.rest(
                  "GET", "/v1/\(TestServer.root)/large?pageToken=\(token)\(query)")
                let documents = answer.json["documents"] as? [[String: Any]] ?? []
                names += documents.compactMap { $0["name"] as? String }
                sizes.append(documents.count)
                token = answer.json["nextPageToken"] as? String ?? ""
              } else {
                let page = try await server.client.listDocuments(
                  .with {
                    $0.parent = TestServer.root
                    $0.collectionID = "large"
                    $0.showMissing = showsMissing
                    $0.pageToken = token
                  })
                names += page.documents.map(\.name)
                sizes.append(page.documents.count)
                token = page.nextPageToken
              }
            } while !token.isEmpty
            #expect(Set(names).count == count + (showsMissing ? 1 : 0) && names == names.sorted())
            #expect(names.count == Set(names).count && sizes.allSatisfy { 1...4 ~= $0 }, "\(sizes)")
          }
        }
      }
    }

    /// The begin of a connection whose client has windows for all answers, and ten queries; the last
    /// is reset.
    private static var silentBytes: [UInt8] {
      get throws {
        let content: [UInt8] = try ProtoRunQueryRequest.with {
          $0.parent = TestServer.root
          $0.structuredQuery.from = [.with { $0.collectionID = "large" }]
        }.serializedBytes()
        let length = (0..<4).map { UInt8(truncatingIfNeeded: content.count >> (24 - 8 * $0)) }
        let window = [0x7F, 0, 0, 0] as [UInt8]
        var frames = [
          Frame(kind: .settings, stream: 0, payload: [0, 4] + window),
          Frame(kind: .window, stream: 0, payload: window),
          Frame(kind: .settings, flags: 1, stream: 0),
        ]
        for stream in stride(from: 1 as UInt32, through: 19, by: 2) {
          frames += [.call(stream, "RunQuery"), .data(stream, [0] + length + content)]
        }
        frames.append(Frame(kind: .reset, stream: 19, payload: [0, 0, 0, 8]))
        return ProtocolChooser.preface + frames.flatMap(\.bytes)
      }
    }

    @Test
    func `nothing is kept any more when connections and calls have ended, however they do`()
      async throws
    {
      let metrics = TestMetrics()
      try await TestServer.run({
        $0.metrics = metrics
        $0.limits.answerBytes = 2_000_000
      }) { server in
        try await Self.fillLarge(server, "large", 14, bytes: 500_000)
        func kept() throws -> [Double] {
          try metrics.expectMeter("hearth_server_unread_answer_bytes").values
        }
        let bytes = try Self.silentBytes
        let clients = try (0..<4).map { _ in try SilentClient(bytes, port: server.port) }
        try await server.eventually {
          guard try kept().last ?? 0 > 1_000_000 else { throw TestServer.NoAnswer(text: "kept") }
        }
        // Others get all, at once.
        #expect(try await Self.count("large", server) == 14)
        for client in clients { client.close() }
        try await server.eventually {
          guard try kept().last == 0 else { throw TestServer.NoAnswer(text: "\(try kept())") }
        }
        // Of 280 MB: the last result and others, and what each connection may have beside them.
        #expect(try kept().allSatisfy { $0 <= 2_500_000 + 7_100_000 + 5 * 3_000_000 })
      }
    }
  }
#endif
