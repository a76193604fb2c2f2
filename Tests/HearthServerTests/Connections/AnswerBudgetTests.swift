#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import MetricsTestKit
  import SwiftProtobuf
  import TestSupport
  import Testing

  @testable import HearthEngine
  @testable import HearthServer

  /// Answers that clients do not read have bounded memory, and nobody waits for a client that reads its
  /// answers later.
  @Suite(.timeLimit(patience)) struct AnswerBudgetTests {
    private static let most = AnswerBudget.queueBytes
    /// Bytes of an answer that alone needs a little more than that.
    private static let answer = most / AnswerBudget.copies + 1
    private static let counted = answer * AnswerBudget.copies
    private static let longest = Duration.seconds(60)

    private final class Noted<Value: Sendable>: Sendable {
      let value: Guarded<Value>
      init(_ value: Value) { self.value = Guarded(value) }
    }

    private static func unary(_ connection: AnswerBudget.Connection) -> AnswerRoom {
      connection.room(for: "GetDocument")
    }

    @Test func `a unary answer keeps its room on its way to the connection`() {
      let budget = AnswerBudget(limit: 3 * Self.most, patience: Self.longest)
      let connection = budget.connection()
      let room = Self.unary(connection)
      #expect(room.takes(Self.answer))
      room.finish()
      #expect(budget.bytes == Self.counted)
      room.write(Self.answer)
      #expect(budget.bytes == Self.answer)
      room.sent(Self.answer, isProgress: true)
      #expect(budget.bytes == 0)
      // The call has failed, and nothing has it any more.
      func fail() {
        let room = Self.unary(connection)
        #expect(room.takes(Self.answer))
        room.finish()
      }
      fail()
      #expect(budget.bytes == 0)
      // The parts of a stream have their own limit.
      let stream = connection.room(for: "RunQuery")
      #expect(stream.takes(Self.answer))
      stream.finish()
      #expect(budget.bytes == 0)
    }

    @Test func `a connection has room for some bytes always, and for more while others leave some`()
      async throws
    {
      let budget = AnswerBudget(limit: 3 * Self.most, patience: Self.longest)
      let (slow, other) = (budget.connection(), budget.connection())
      // What is written counts, whoever has written it.
      let written = Self.unary(slow)
      written.write(2 * Self.most)
      let room = Self.unary(slow)
      #expect(room.takes(Self.answer) && budget.bytes == 2 * Self.most + Self.counted)
      #expect(!Self.unary(slow).takes(Self.answer))
      // Small answers need no room.
      #expect(Self.unary(slow).takes(AnswerBudget.countedBytes - 1))
      let (first, second) = (Self.unary(other), Self.unary(other))
      #expect(first.takes(Self.answer) && !second.takes(Self.answer))
      first.end()
      first.end()
      #expect(budget.bytes == 2 * Self.most + Self.counted)
      #expect(second.takes(Self.answer - 1) && first.takes(Self.answer))
      let bytes = budget.bytes
      // It has one answer at a time.
      #expect(first.takes(Self.answer) && budget.bytes == bytes)
      for room in [room, first, second] { room.end() }
      written.sent(2 * Self.most, isProgress: true)
      #expect(budget.bytes == 0)
    }

    @Test
    func `answers that wait have room in their order, when bytes are sent or others have ended`()
      async throws
    {
      let budget = AnswerBudget(limit: 2 * Self.most, patience: Self.longest)
      let (slow, other) = (budget.connection(), budget.connection())
      let stuck = [slow, other].map(Self.unary)
      for room in stuck { room.write(2 * Self.most) }
      let order = Noted<[Int]>([])
      var calls: [Task<AnswerRoom, any Error>] = []
      for number in 0..<4 {
        calls.append(
          Task {
            let room = Self.unary(slow)
            try await room.take(Self.answer)
            order.value.withLock { $0.append(number) }
            return room
          })
        try await eventually { budget.waitingAnswers == number + 1 }
      }
      stuck[0].sent(Self.most, isProgress: true)
      #expect(budget.waitingAnswers == 4)
      stuck[0].sent(1, isProgress: true)
      let first = try await calls[0].value
      stuck[0].sent(Self.most - 1, isProgress: true)
      #expect(budget.waitingAnswers == 3)
      first.end()
      let second = try await calls[1].value
      // Room that another connection has given back is noticed later.
      stuck[1].sent(2 * Self.most, isProgress: true)
      #expect(budget.waitingAnswers == 2)
      budget.update()
      let third = try await calls[2].value
      #expect(budget.waitingAnswers == 1)
      for room in [second, third] { room.end() }
      try await calls[3].value.end()
      #expect(order.value.withLock(\.self) == [0, 1, 2, 3] && budget.bytes == 0)
    }

    @Test func `a stream does not wait for others of its connection, but for its own parts`()
      async throws
    {
      let budget = AnswerBudget(limit: 1, patience: Self.longest)
      let connection = budget.connection()
      let streams = ["RunQuery", "BatchGetDocuments", "Listen", "RunQuery", "RunQuery"].map {
        connection.room(for: $0)
      }
      // Each part is written and not sent.
      for stream in streams.prefix(AnswerBudget.queueParts) {
        #expect(stream.takes(Self.most))
        stream.write(Self.most)
        stream.end()
        #expect(!stream.takes(Self.most))
      }
      let last = streams[AnswerBudget.queueParts]
      #expect(!last.takes(Self.answer))
      // Nor does a unary call, which does not wait for them.
      #expect(Self.unary(connection).takes(Self.answer))
      streams[0].sent(Self.most - StreamGuard.partBytes, isProgress: true)
      #expect(!streams[0].takes(Self.answer) && !last.takes(Self.answer))
      // Nearly all of it.
      streams[0].sent(1, isProgress: true)
      #expect(streams[0].takes(Self.answer) && !last.takes(Self.answer))
      streams[0].end()
      streams[0].sent(StreamGuard.partBytes - 1, isProgress: true)
      #expect(last.takes(Self.answer))
      last.end()
      // Many small parts have room as well.
      for stream in streams {
        stream.sent(stream === streams[0] || stream === last ? 0 : Self.most, isProgress: true)
      }
      #expect(budget.bytes == 0)
      let small = (0..<100).map { _ in connection.room(for: "RunQuery") }
      for stream in small where stream.takes(10_000) {
        stream.write(30_000)
        stream.end()
      }
      #expect((Self.most..<Self.most + 60_000).contains(budget.bytes))
    }

    @Test func `what waits fails when its client has read nothing for a while`() async throws {
      let budget = AnswerBudget(limit: 1, patience: Self.longest)
      let connection = budget.connection()
      let stuck = Self.unary(connection)
      stuck.write(2 * Self.most)
      let calls = (0..<3).map { _ in
        Task { try await Self.unary(connection).take(Self.answer) }
      }
      try await eventually { budget.waitingAnswers == 3 }
      budget.update(now: .now + Self.longest / 2)
      // Bytes that never will be sent are no progress.
      stuck.sent(1, isProgress: false)
      #expect(budget.waitingAnswers == 3)
      budget.update(now: .now + Self.longest)
      for call in calls {
        let error = await #expect(throws: HearthEngine.Status.self) { try await call.value }
        #expect(error?.code == .resourceExhausted)
      }
      #expect(budget.waitingAnswers == 0 && budget.bytes == 2 * Self.most - 1)
    }

    @Test func `a call that waits ends with its client: cancelled, timed out or disconnected`()
      async throws
    {
      let budget = AnswerBudget(limit: 1, patience: Self.longest)
      let connection = budget.connection()
      let stuck = Self.unary(connection)
      stuck.write(Self.most)
      let task = Task { try await Self.unary(connection).take(Self.answer) }
      let handles = Guarded<[ServerContext.RPCCancellationHandle]>([])
      let call = Task {
        try await withServerContextRPCCancellationHandle { handle in
          handles.withLock { $0.append(handle) }
          try await Self.unary(connection).take(Self.answer)
        }
      }
      let closed = Task { try await Self.unary(connection).take(Self.answer) }
      try await eventually { budget.waitingAnswers == 3 }
      task.cancel()
      handles.withLock(\.first)?.cancel()
      for call in [task, call] {
        let error = await #expect(throws: HearthEngine.Status.self) { try await call.value }
        #expect(error?.code == .cancelled)
      }
      #expect(budget.waitingAnswers == 1)
      connection.end()
      let error = await #expect(throws: HearthEngine.Status.self) { try await closed.value }
      #expect(error?.code == .cancelled)
      await #expect(throws: HearthEngine.Status.self) {
        try await Self.unary(connection).take(Self.answer)
      }
      stuck.sent(Self.most, isProgress: false)
      #expect(budget.bytes == 0 && budget.waitingAnswers == 0)
    }

    @Test func `many calls at a time are within the limit, and all of them end`() async throws {
      let limit = 4 * Self.most
      let largest = 1024 + 999 * 1997
      let budget = AnswerBudget(limit: limit, patience: Self.longest)
      let connections = (0..<3).map { _ in budget.connection() }
      let highest = Noted(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<1000 {
          group.addTask {
            let connection = connections[number % 3]
            let room = connection.room(for: number % 2 == 0 ? "RunQuery" : "GetDocument")
            let call = Task {
              let bytes = 1024 + number * 1997
              try await room.take(bytes)
              let now = budget.bytes
              highest.value.withLock { $0 = max($0, now) }
              await Task.yield()
              room.write(bytes)
              room.end()
              await Task.yield()
              room.sent(bytes, isProgress: true)
            }
            if number % 10 == 1 { call.cancel() }
            _ = await call.result
          }
        }
        try await group.waitForAll()
      }
      #expect(budget.bytes == 0 && budget.waitingAnswers == 0)
      // An answer may pass the limit; of each connection one unary call and four streams more.
      let most = limit + 3 * (1 + AnswerBudget.queueParts) * AnswerBudget.copies * largest
      #expect(highest.value.withLock(\.self) <= most)
      #expect(highest.value.withLock(\.self) > limit / 2)
    }

    // MARK: Served

    @Test func `the document of a unary call that waits is not in memory, and is the newest then`()
      async throws
    {
      try await TestServer.run { server in
        let name = TestServer.root + "/a/b"
        func set(_ text: String) async throws {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = [
                .with {
                  $0.update.name = name
                  $0.update.fields["s"] = .with { $0.stringValue = text }
                }
              ]
            })
        }
        try await set(String(repeating: "x", count: 100_000))
        let budget = AnswerBudget(limit: 1, patience: Self.longest)
        let connection = budget.connection()
        let stuck = Self.unary(connection)
        stuck.write(Self.most)
        let database = try await server.catalog.use(
          DatabaseName(TestServer.database), for: .reading)
        let calls = (0..<3).map { _ in
          Task {
            let room = Self.unary(connection)
            let found = try await database.document(
              at: ResourcePath(["a", "b"]), .newest, in: room)
            return (room, found?.body.bytes.count)
          }
        }
        try await eventually { budget.waitingAnswers == calls.count }
        #expect(budget.bytes == Self.most)
        try await set(String(repeating: "y", count: 200_000))
        stuck.sent(Self.most, isProgress: true)
        for call in calls { #expect(try await call.value.1 ?? 0 > 200_000) }
      }
    }

    @Test func `pipelined requests over HTTP/1.1 are answered when the answers before are sent`()
      async throws
    {
      let metrics = TestMetrics()
      try await TestServer.run({ $0.metrics = metrics }) { server in
        let requests = 600
        _ = try await server.client.commit(
          .with {
            $0.database = TestServer.database
            $0.writes = [
              .with {
                $0.update.name = TestServer.root + "/a/b"
                $0.update.fields["s"] = .with {
                  $0.stringValue = String(repeating: "x", count: 60_000)
                }
              }
            ]
          })
        func answered() -> Int64 {
          let counter = try? metrics.expectCounter(
            "hearth_server_calls", [("method", "GetDocument"), ("code", "ok")])
          return counter?.values.reduce(0, +) ?? 0
        }
        let text =
          "GET /v1/\(TestServer.root)/a/b HTTP/1.1\r\nHost: localhost\r\n\r\n"
        let client = try SilentClient(
          Array(String(repeating: text, count: requests).utf8), port: server.port,
          room: 1 << 18)
        try await eventually { answered() > 0 }
        let last = try await settled(for: .milliseconds(500)) { answered() }
        // As many as the system keeps for the connection.
        #expect(last > 0 && last < requests * 2 / 3, "\(last)")
        let received = try await client.read {
          $0.count > requests * 60_000 && answered() == requests
        }
        #expect(received.count > requests * 60_000 && answered() == requests)
      }
    }
  }

  /// A connection that is written to, and not read, or late.
  final class SilentClient: @unchecked Sendable {
    // Unchecked: used by one test at a time.
    private var file: Int32

    init(_ bytes: [UInt8], port: Int, room: Int32 = 4096) throws {
      file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var room = room
      setsockopt(file, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let isConnected = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      guard isConnected, write(file, bytes, bytes.count) == bytes.count else {
        throw TestServer.NoAnswer(text: "not connected: \(errno)")
      }
    }

    /// Reads until it is enough, or nothing comes for ten seconds.
    func read(until isEnough: ([UInt8]) -> Bool) async throws -> [UInt8] {
      var received: [UInt8] = []
      var part = [UInt8](repeating: 0, count: 1 << 18)
      _ = try await becomesTrue {
        while !isEnough(received) {
          let count = recv(file, &part, part.count, Int32(MSG_DONTWAIT))
          if count <= 0 { return count == 0 }
          received += part[..<count]
        }
        return true
      }
      return received
    }

    func close() {
      if file >= 0 { Foundation.close(file) }
      file = -1
    }

    deinit { close() }
  }
#endif
