#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import Logging
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(.timeLimit(patience)) struct ListenStreamTests {
    /// A world of writers and one listener, whose stream is cut and resumed at random moments.
    @Test func `after each snapshot the client has what the query finds at its time`()
      async throws
    {
      let seed = UInt64.random(in: 0 ... .max)
      try await TestServer.run { server in
        let query = ProtoStructuredQuery.with {
          $0.from = [.with { $0.collectionID = "world" }]
          $0.where.fieldFilter = .with {
            $0.field.fieldPath = "n"
            $0.op = .lessThan
            $0.value.integerValue = 50
          }
          $0.limit.value = 12
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<3 {
            group.addTask {
              var generator = SeededGenerator(seed: seed &+ UInt64(writer))
              while !Task.isCancelled {
                let writes = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                  let name =
                    TestServer.root + "/world/\(Int.random(in: 0..<40, using: &generator))"
                  let number = Int64.random(in: 0..<100, using: &generator)
                  return ProtoWrite.with {
                    if number < 20 {
                      $0.delete = name
                    } else {
                      $0.update.name = name
                      $0.update.fields["n"] = .with { $0.integerValue = number }
                    }
                  }
                }
                _ = try? await server.client.commit(
                  .with {
                    $0.database = TestServer.database
                    $0.writes = writes
                  })
              }
            }
          }
          defer { group.cancelAll() }
          var generator = SeededGenerator(seed: seed)
          var client = ListeningClient()
          var snapshots = 0
          for _ in 0..<25 {
            let count = Int.random(in: 1...20, using: &generator)
            client = try await Self.listen(to: query, client, until: count, server, seed)
            snapshots += count
          }
          print("listen: \(snapshots) snapshots, 25 streams")
        }
      }
    }

    private static func listen(
      to query: ProtoStructuredQuery, _ client: ListeningClient, until count: Int,
      _ server: TestServer, _ seed: UInt64
    ) async throws -> ListeningClient {
      let (done, finish) = AsyncStream.makeStream(of: Void.self)
      return try await server.client.listen { writer in
        try await writer.write(
          .with {
            $0.database = TestServer.database
            $0.addTarget.targetID = 7
            $0.addTarget.query.parent = TestServer.root
            $0.addTarget.query.structuredQuery = query
            if !client.token.isEmpty { $0.addTarget.resumeToken = client.token }
          })
        for await _ in done { break }
      } onResponse: { response in
        defer { finish.finish() }
        var client = client
        var snapshots = 0
        for try await message in response.messages {
          guard try client.take(message) else { continue }
          let expected = try await server.client.runQuery(
            .with {
              $0.parent = TestServer.root
              $0.structuredQuery = query
              $0.readTime = client.readTime
            }
          ) { response in
            try await response.messages.reduce(into: [String: ProtoDocument]()) {
              if $1.hasDocument { $0[$1.document.path] = $1.document }
            }
          }
          #expect(client.documents == expected, "seed \(seed), snapshot \(snapshots)")
          snapshots += 1
          if snapshots >= count { return client }
        }
        return client
      }
    }

    private static func query(_ collection: String) -> ProtoTarget {
      .with {
        $0.targetID = 2
        $0.query.parent = TestServer.root
        $0.query.structuredQuery.from = [.with { $0.collectionID = collection }]
        $0.once = true
      }
    }

    @Test func `a message that is malformed ends the stream with its reason`() async throws {
      try await TestServer.run { server in
        for parts in [[[0xFF]], [try Self.first, [0xFF]]] as [[[UInt8]]] {
          let refused = await #expect(throws: RPCError.self) {
            try await server.connection.bidirectionalStreaming(
              request: StreamingClientRequest { writer in
                try await writer.write(contentsOf: parts)
                await untilCancelled()
              },
              descriptor: MethodDescriptor(
                fullyQualifiedService: "google.firestore.v1.Firestore", method: "Listen"),
              serializer: BytesCoder(), deserializer: BytesCoder(), options: .defaults
            ) { for try await _ in $0.messages {} }
          }
          #expect(refused?.code == .invalidArgument, "\(refused.debugDescription)")
        }
      }
    }

    private static var first: [UInt8] {
      get throws {
        try ProtoListenRequest.with {
          $0.database = TestServer.database
          $0.addTarget = query("a")
        }.serializedBytes()
      }
    }

    @Test func `the first snapshot of an empty database has a time, at which it can be read`()
      async throws
    {
      try await TestServer.run { server in
        var client = ListeningClient()
        for message in try await server.listen(Self.query("a")) { _ = try client.take(message) }
        // Clients on devices take the epoch for no time.
        #expect(client.isCurrent && client.readTime != .init())
        try await server.set(TestServer.root + "/a/new", 1)
        let readTime = client.readTime
        let count = try await server.client.runQuery(
          .with {
            $0.parent = TestServer.root
            $0.structuredQuery.from = [.with { $0.collectionID = "a" }]
            $0.readTime = readTime
          }
        ) { response in
          try await response.messages.reduce(0) { $0 + ($1.hasDocument ? 1 : 0) }
        }
        #expect(count == 0)
        var target = Self.query("a")
        target.resumeToken = client.token
        for message in try await server.listen(target) { _ = try client.take(message) }
        #expect(client.documents.keys.sorted() == ["a/new"] && client.resets == 0)
      }
    }

    /// Clients take a stream without messages for dead.
    @Test func `a stream without changes repeats its last snapshot every half minute`() async throws
    {
      try await TestServer.run { server in
        let name = try DatabaseName(TestServer.database)
        let (sent, inputs) = (SentMessages(), ListenInputs())
        let stream = ListenStream(
          ListenStream.Source(
            database: try await server.catalog.use(name, for: .reading), close: {}), name, inputs,
          RPCWriter(wrapping: sent), targetLimit: 1)
        defer { stream.close() }
        let streams = ListenStreams { _ in }
        streams.add(inputs)
        func handle(until count: Int) async throws {
          _ = try await becomesTrue {
            while let input = inputs.next() { try await stream.handle(input) }
            return sent.snapshots.count >= count
          }
          #expect(sent.snapshots.count >= count)
        }
        var target = Self.query("a")
        target.once = false
        inputs.add(.request(.with { [target] in $0.addTarget = target }))
        try await handle(until: 1)
        #expect(sent.snapshots.count == 1)
        // Thirty timers of one second: half a minute is over after the first.
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<30 { group.addTask { try await streams.beat() } }
          defer { group.cancelAll() }
          try await handle(until: 2)
        }
        let snapshots = sent.snapshots
        #expect(
          snapshots.allSatisfy { $0 == snapshots.last }
            && snapshots.last?.resumeToken.isEmpty == false)
      }
    }

    /// With the present time, a client would not take the document that was made meanwhile.
    @Test func `a deletion that the log no longer has is dated before what follows`() async throws {
      try await TestServer.run { server in
        let path = TestServer.root + "/a/x"
        try await server.set(path, 1)
        let name = try DatabaseName(TestServer.database)
        let (sent, inputs) = (SentMessages(), ListenInputs())
        let stream = ListenStream(
          ListenStream.Source(
            database: try await server.catalog.use(name, for: .reading), close: {}), name, inputs,
          RPCWriter(wrapping: sent), targetLimit: 1)
        defer { stream.close() }
        func next() async throws -> ListenInputs.Input {
          var input: ListenInputs.Input?
          try await eventually {
            input = inputs.next()
            return input != nil
          }
          return try #require(input)
        }
        try await stream.handle(
          .request(
            .with {
              $0.addTarget.targetID = 1
              $0.addTarget.documents.documents = [path]
            }))
        while sent.snapshots.isEmpty { try await stream.handle(next()) }
        let before = try Instant(exactly: #require(sent.snapshots.first).readTime, "")

        let backend = try #require(server.backend as? EmbeddedBackend)
        try await backend.setRetention(
          ChangeLogRetention(age: .zero, limitBytes: 0), isDefault: false)
        _ = try await server.client.deleteDocument(.with { $0.name = path })
        // The stream has the event, and does not go on before the log has lost its change.
        let deletion = try await next()
        let made = try await Instant(exactly: server.set(path, 2).commitTime, "")
        for _ in 0..<20 { try await server.set(TestServer.root + "/a/other", 2) }
        try await stream.handle(deletion)
        let date = try Instant(exactly: #require(sent.deletions.first).readTime, "")
        #expect(sent.deletions.map(\.document) == [path])
        #expect(before < date && date < made)
        while sent.documents.count < 2 { try await stream.handle(next()) }
        #expect(sent.documents.map { $0.fields["n"]?.integerValue } == [1, 2])
      }
    }

    @Test func `a snapshot without a part of the targets has no token`() async throws {
      try await TestServer.run { server in
        let name = try DatabaseName(TestServer.database)
        let (sent, inputs) = (SentMessages(), ListenInputs())
        let stream = ListenStream(
          ListenStream.Source(
            database: try await server.catalog.use(name, for: .reading), close: {}), name, inputs,
          RPCWriter(wrapping: sent), targetLimit: 2)
        defer { stream.close() }
        func handle(until isDone: () -> Bool) async throws {
          try await eventually {
            if isDone() { return true }
            while let input = inputs.next() { try await stream.handle(input) }
            return isDone()
          }
        }
        for id in [1, 2] as [Int32] {
          var target = Self.query("a")
          (target.targetID, target.once) = (id, false)
          try await stream.handle(.request(.with { [target] in $0.addTarget = target }))
          // The events of the second target wait.
          if id == 1 { try await handle { !sent.snapshots.isEmpty } }
        }
        #expect(sent.snapshots.map(\.resumeToken.isEmpty) == [false])
        try await stream.handle(.heartbeat)
        let snapshots = sent.snapshots
        #expect(snapshots.map(\.resumeToken.isEmpty) == [false, true])
        #expect(snapshots.last?.readTime == snapshots.first?.readTime)
        try await handle { sent.snapshots.count >= 3 }
        #expect(sent.snapshots.last?.resumeToken.isEmpty == false)
      }
    }

    @Test func `no more requests are read than are handled`() async throws {
      try await TestServer.run { server in
        let requests = (0..<100).map { number in
          ProtoListenRequest.with {
            $0.database = TestServer.database
            $0.addTarget.targetID = Int32(number + 1)
            $0.addTarget.documents.documents = [TestServer.root + "/a/b"]
            $0.addTarget.resumeToken = Data(count: 1 << 20)
          }
        }
        let taken = Mutex(0)
        let writer = BlockedWriter()
        let rpcs = FirestoreRPCs(
          catalog: server.catalog, streams: ListenStreams { _ in }, writeStreams: WriteStreams(),
          results: KeptResults(limit: .max), limits: FirestoreServer.Limits())
        try await withServerContextRPCCancellationHandle { handle in
          let context = ServerContext(
            descriptor: MethodDescriptor(
              fullyQualifiedService: "google.firestore.v1.Firestore", method: "Listen"),
            remotePeer: "", localPeer: "", cancellation: handle)
          let sequence = AsyncThrowingStream<ProtoListenRequest, any Error> {
            taken.withLock { taken in
              guard taken < requests.count else { return nil }
              taken += 1
              return requests[taken - 1]
            }
          }
          async let listening: Void = rpcs.listen(
            request: RPCAsyncSequence(wrapping: sequence), response: RPCWriter(wrapping: writer),
            context: context)
          await writer.isUsed()
          try await quietTime(.milliseconds(300))
          // One is handled, and one waits.
          #expect(taken.withLock { $0 } <= 2)
          writer.open()
          try await listening
        }
        #expect(taken.withLock { $0 } == requests.count)
        #expect(writer.count == requests.count)
      }
    }

    @Test
    func `changes that wait for a slow client have bounded memory, and end the stream beyond it`()
      async throws
    {
      try await TestServer.run { server in
        let size = 500_000
        func set(_ number: Int) async throws {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = [
                .with {
                  $0.update.name = TestServer.root + "/large/\(number)"
                  $0.update.fields["s"] = .with { $0.bytesValue = Data(count: size) }
                }
              ]
            })
        }
        let inputs = ListenInputs()
        let name = try DatabaseName(TestServer.database)
        let stream = ListenStream(
          ListenStream.Source(
            database: try await server.catalog.use(name, for: .reading), close: {}), name, inputs,
          RPCWriter(wrapping: Ignoring()), targetLimit: 1)
        defer { stream.close() }
        inputs.add(
          .request(
            .with {
              $0.addTarget.targetID = 1
              $0.addTarget.query.parent = TestServer.root
              $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "large" }]
            }))
        while let input = inputs.next() { try await stream.handle(input) }
        let most = ListenInputs.byteLimit / size
        // A client that reads has them, however many there are.
        for number in 0..<3 {
          try await set(number)
          while let input = inputs.next() { try await stream.handle(input) }
        }
        for number in 0..<most - 5 { try await set(number) }
        #expect(inputs.status == nil)
        for number in most..<most + 20 where inputs.status == nil { try await set(number) }
        try await server.eventually {
          guard inputs.status?.code == .resourceExhausted else {
            throw TestServer.NoAnswer(text: "\(String(describing: inputs.status))")
          }
        }
      }
    }

    @Test func `a target of documents that resumes from before the log has all of them`()
      async throws
    {
      try await TestServer.run { server in
        let names = ["x", "y", "z"].map { TestServer.root + "/a/" + $0 }
        for name in names { try await server.set(name, 1) }
        var target = ProtoTarget.with {
          $0.targetID = 2
          $0.documents.documents = names
          $0.once = true
        }
        var client = ListeningClient()
        for message in try await server.listen(target) { _ = try client.take(message) }
        let backend = try #require(server.backend as? EmbeddedBackend)
        try await backend.setRetention(
          ChangeLogRetention(age: .zero, limitBytes: 0), isDefault: false)
        for _ in 0..<20 { try await server.set(names[0], 2) }
        _ = try await server.client.deleteDocument(.with { $0.name = names[2] })
        for _ in 0..<20 { try await server.set(TestServer.root + "/a/other", 2) }
        target.resumeToken = client.token
        for message in try await server.listen(target) { _ = try client.take(message) }
        #expect(
          client.documents.mapValues { $0.fields["n"]?.integerValue } == ["a/x": 2, "a/y": 1])
      }
    }

    @Test func `a client of a database that was made again begins again`() async throws {
      let old = try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/old", 1)
        var client = ListeningClient()
        for message in try await server.listen(Self.query("a")) { _ = try client.take(message) }
        return client
      }
      #expect(old.documents.keys.sorted() == ["a/old"])
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/new", 1)
        var client = old
        var target = Self.query("a")
        target.resumeToken = old.token
        for message in try await server.listen(target) { _ = try client.take(message) }
        #expect(client.documents.keys.sorted() == ["a/new"] && client.resets == 1)
      }
    }

    @Test func `a target begins with the changes since a time, and counts what the client knows`()
      async throws
    {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/1", 1)
        let time = try await server.set(TestServer.root + "/a/2", 1).commitTime
        try await server.set(TestServer.root + "/a/3", 1)
        var target = Self.query("a")
        target.readTime = time
        target.expectedCount.value = 2
        let messages = try await server.listen(target)
        let changed = messages.compactMap { message in
          if case .documentChange(let change) = message.responseType {
            change.document.path
          } else {
            nil
          }
        }
        #expect(changed == ["a/3"])
        let filters = messages.compactMap { message in
          if case .filter(let filter) = message.responseType { filter.count } else { nil }
        }
        #expect(filters == [3])
      }
    }

    @Test func `documents, removed targets, once, and refused targets`() async throws {
      try await TestServer.run { server in
        let name = TestServer.root + "/counters/one"
        try await server.set(name, 1)
        let messages = try await server.listen(
          .with {
            $0.targetID = 2
            $0.documents.documents = [name, TestServer.root + "/counters/none"]
            $0.once = true
          })
        let kinds = messages.map { message in
          switch message.responseType {
          case .targetChange(let change): "\(change.targetChangeType) \(change.targetIds)"
          case .documentChange(let change): "change \(change.document.path) \(change.targetIds)"
          case .documentDelete(let delete):
            "delete \(delete.document.split(separator: "/").last ?? "") \(delete.removedTargetIds)"
          default: "other"
          }
        }
        #expect(kinds.first == "add [2]")
        #expect(Set(kinds[1...2]) == ["change counters/one [2]", "delete none [2]"])
        #expect(kinds[3...] == ["current [2]", "noChange []", "remove [2]"])
        for refused in [
          ProtoTarget.with { $0.targetID = 2 },
          .with {
            $0.targetID = 2
            $0.documents.documents = ["nonsense"]
          },
          .with {
            $0.targetID = 2
            $0.query.parent = TestServer.root
            $0.query.structuredQuery.from = [.with { $0.allDescendants = true }]
          },
          .with {
            $0.targetID = 2
            $0.documents.documents = [name]
            $0.resumeToken = Data("nonsense".utf8)
          },
        ] {
          let message = try await server.listen(refused).first?.targetChange
          #expect(message?.targetChangeType == .remove)
          #expect(message?.cause.code == 3)
        }
      }
    }
  }

  /// What a stream has sent.
  private final class SentMessages: RPCWriterProtocol {
    private let messages = Mutex<[ProtoListenResponse]>([])

    /// The messages that complete a consistent snapshot.
    var snapshots: [ProtoTargetChange] {
      messages.withLock { $0.map(\.targetChange) }.filter { change in
        change.targetChangeType == .noChange && change.hasReadTime
      }
    }

    var deletions: [ProtoDocumentDelete] {
      messages.withLock { messages in
        messages.compactMap { message in
          if case .documentDelete(let it) = message.responseType { it } else { nil }
        }
      }
    }

    var documents: [ProtoDocument] {
      messages.withLock { messages in
        messages.compactMap { message in
          if case .documentChange(let it) = message.responseType { it.document } else { nil }
        }
      }
    }

    func write(_ message: ProtoListenResponse) async throws {
      messages.withLock { $0.append(message) }
    }

    func write(contentsOf some: some Sequence<ProtoListenResponse>) async throws {
      for message in some { try await write(message) }
    }
  }

  /// Accepts nothing before it is opened.
  private final class BlockedWriter: RPCWriterProtocol {
    private let used = AsyncStream.makeStream(of: Void.self)
    private let opened = AsyncStream.makeStream(of: Void.self)
    private let messages = Mutex(0)

    var count: Int { messages.withLock { $0 } }

    func isUsed() async { for await _ in used.stream { break } }
    func open() { opened.continuation.finish() }

    func write(_ message: ProtoListenResponse) async throws {
      try await write(contentsOf: [message])
    }

    func write(contentsOf some: some Sequence<ProtoListenResponse>) async throws {
      used.continuation.yield()
      for await _ in opened.stream {}
      messages.withLock { $0 += Array(some).count }
    }
  }

  extension TestServer {
    /// The messages until the target is removed.
    fileprivate func listen(_ target: ProtoTarget) async throws -> [ProtoListenResponse] {
      let (done, finish) = AsyncStream.makeStream(of: Void.self)
      return try await client.listen { writer in
        try await writer.write(
          .with {
            $0.database = Self.database
            $0.addTarget = target
          })
        for await _ in done { break }
      } onResponse: { response in
        defer { finish.finish() }
        var messages: [ProtoListenResponse] = []
        for try await message in response.messages {
          messages.append(message)
          if message.targetChange.targetChangeType == .remove { break }
        }
        return messages
      }
    }
  }

  private struct Ignoring: RPCWriterProtocol {
    func write(_ element: ProtoListenResponse) async throws {}
    func write(contentsOf elements: some Sequence<ProtoListenResponse>) async throws {}
  }
#endif
