#if Server
  import CoreMetrics
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import NIOCore
  import NIOEmbedded
  import NIOHTTP2
  import TestSupport
  import Testing

  @testable import HearthServer

  /// What a stream may cost: before its key is checked, and when its client does not read.
  @Suite struct StreamGuardTests {
    private static let key = "a-key-of-the-tests"

    @Test func `calls whose keys are not checked have few places, and each is used once`() {
      let calls = UncheckedCalls(limit: 2)
      let admitted = Admitted()
      let first = calls.add { admitted.add($0) }
      let second = calls.add { admitted.add($0) }
      #expect(first != nil && second != nil && calls.add { _ in } == nil && calls.count == 2)
      calls.admit(first ?? 0, limit: 7)
      calls.admit(first ?? 0, limit: 8)
      #expect(admitted.all == [7])
      calls.remove(second ?? 0)
      calls.admit(second ?? 0)
      #expect(admitted.all == [7] && calls.count == 0 && calls.add { _ in } != nil)
    }

    @Test func `nothing is read before the key is checked`() throws {
      let unchecked = UncheckedCalls()
      try Self.withStream(unchecked) { channel, reads in
        #expect(reads.count == 0)
        channel.pipeline.read()
        #expect(reads.count == 0 && unchecked.count == 1)
        // The client cannot choose the number.
        guard case .headers(let head)? = try channel.readInbound(as: HTTP2Frame.FramePayload.self)
        else { throw ChannelError.eof }
        #expect(head.headers[canonicalForm: UncheckedCalls.header] == ["1"])
        unchecked.admit(1)
        channel.embeddedEventLoop.run()
        #expect(reads.count == 1)
        channel.pipeline.read()
        #expect(reads.count == 2)
      }
      #expect(unchecked.count == 0)
    }

    @Test func `a stream that ends before its key is checked gives its place back`() throws {
      let unchecked = UncheckedCalls()
      try Self.withStream(unchecked) { _, _ in #expect(unchecked.count == 1) }
      #expect(unchecked.count == 0)
    }

    @Test func `a request without a key has few bytes`() throws {
      let unchecked = UncheckedCalls()
      try Self.withStream(unchecked) { channel, _ in
        unchecked.admit(1, limit: 10)
        channel.embeddedEventLoop.run()
        try channel.writeInbound(Self.data(10))
        #expect(channel.isActive)
        try channel.writeInbound(Self.data(1))
        #expect(!channel.isActive)
      }
    }

    @Test func `an answer that is not read for a minute ends the stream`() throws {
      for becomesWritable in [true, false] {
        try Self.withStream(nil) { channel, _ in
          channel.isWritable = false
          channel.pipeline.fireChannelWritabilityChanged()
          channel.embeddedEventLoop.advanceTime(by: .seconds(59))
          #expect(channel.isActive)
          if becomesWritable {
            channel.isWritable = true
            channel.pipeline.fireChannelWritabilityChanged()
          }
          channel.embeddedEventLoop.advanceTime(by: .seconds(2))
          #expect(channel.isActive == becomesWritable)
        }
      }
    }

    @Test func `an answer of which a part is read each minute goes on`() throws {
      let writes = Writes()
      try Self.withStream(nil, writes, path: "/s/Listen") { channel, _ in
        channel.isWritable = false
        channel.pipeline.fireChannelWritabilityChanged()
        channel.write(Self.data(3 * StreamGuard.partBytes), promise: nil)
        #expect(writes.promises.count == 3)
        for promise in writes.promises {
          channel.embeddedEventLoop.advanceTime(by: .seconds(59))
          promise?.succeed()
        }
        channel.embeddedEventLoop.advanceTime(by: .seconds(59))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(2))
        #expect(!channel.isActive)
      }
    }

    /// gRPC writes the status as soon as a stream is not writable any more.
    @Test func `what is written because of a part follows the whole frame`() throws {
      let writes = Writes()
      try Self.withStream(nil, writes) { channel, _ in
        try channel.pipeline.syncOperations.addHandler(Follower())
        writes.onFirst = {
          channel.isWritable = false
          channel.pipeline.fireChannelWritabilityChanged()
        }
        channel.write(Self.data(2 * StreamGuard.partBytes + 1), promise: nil)
        #expect(writes.sizes == [StreamGuard.partBytes, StreamGuard.partBytes, 1, nil])
      }
    }

    /// The head of a message of 100 bytes.
    private static let head: [UInt8] = [0, 0, 0, 0, 100]

    @Test
    func `a message is counted until its call ends, those of a stream until they are complete`()
      throws
    {
      let connections = Self.connections(requestBytes: 1000)
      for (path, kept) in [("/s/Commit", 105), ("/s/Write", 0)] {
        try Self.withStream(nil, connections: connections, path: path) { channel, _ in
          for (part, bytes) in [
            (Self.head, 5), (Array(repeating: 1, count: 60), 65),
            (Array(repeating: 1, count: 40), kept), (Self.head + [1], kept + 6),
          ] as [([UInt8], Int)] {
            try channel.writeInbound(Self.data(part))
            #expect(connections.requestBytes.current == bytes, "\(path)")
          }
        }
        #expect(connections.requestBytes.current == 0)
      }
    }

    @Test func `a message that is not complete after two minutes ends its call`() throws {
      for (path, parts, isActive) in [
        ("/s/Commit", [[]], false), ("/s/Commit", [Self.head, [1]], false),
        ("/s/Commit", [Self.head, Array(repeating: 1, count: 100)], true),
        ("/s/Listen", [[]], true), ("/s/Listen", [Self.head, [1]], false),
        ("/s/Listen", [Self.head, Array(repeating: 1, count: 100)], true),
        ("/s/Listen", [Self.head, Array(repeating: 1, count: 101)], false),
      ] as [(String, [[UInt8]], Bool)] {
        try Self.withStream(nil, path: path) { channel, _ in
          for part in parts { try channel.writeInbound(Self.data(part)) }
          channel.embeddedEventLoop.advanceTime(by: .seconds(119))
          #expect(channel.isActive)
          channel.embeddedEventLoop.advanceTime(by: .seconds(2))
          #expect(channel.isActive == isActive, "\(path) \(parts)")
        }
      }
    }

    @Test func `messages beyond the limit are refused, and other calls are answered`() async throws
    {
      try await TestServer.run({
        $0.limits.messageBytes = 42_000
        $0.limits.requestBytes = 42_000
      }) { server in
        // Messages of 40,000 bytes that do not end. The connection's window is larger than all.
        let part = [0, 0, 0, 0x9C, 0x40] + Array(repeating: 120 as UInt8, count: 4_400)
        let unfinished = (0..<4).flatMap { number in
          let stream = UInt32(2 * number + 1)
          return [.call(stream, number == 3 ? "Write" : "Commit")]
            + (0..<3).map { _ in Frame.data(stream, part, ends: false) }
        }
        let frames = try await RawConnection.open(port: server.port) { connection in
          connection.begin(unfinished + [.ping])
          let frames = try await connection.frames { all in
            all.haveAcknowledgedPing && all.contains { $0.kind == .reset }
          }
          try await server.set(TestServer.root + "/a/b", 1)
          return frames
        }
        // ENHANCE_YOUR_CALM, which clients report as RESOURCE_EXHAUSTED.
        #expect(frames.filter { $0.kind == .reset }.map(\.errorCode) == [11])
        #expect(!frames.contains { $0.kind == .goAway })
      }
    }

    @Test func `a call without a key ends at once, with all that it has sent`() async throws {
      try await TestServer.run({ $0.serviceKeys = [Self.key] }) { server in
        let part = Array(repeating: 120 as UInt8, count: 16_000)
        let frames = try await RawConnection.send(
          [
            .call(1, "Commit"), .data(1, [0, 0, 1, 0, 0] + part, ends: false),
            .data(1, part, ends: false),
            // Without a key and not asked for: health, with a request that is too large.
            .call(3, "Check", service: "grpc.health.v1.Health"),
            .data(3, [0, 0, 1, 0, 0] + part, ends: false),
            .call(5, "Check", service: "grpc.health.v1.Health"), .data(5, [0, 0, 0, 0, 0]),
          ],
          until: { all in
            all.haveEnded(3, 5) && all.contains { $0.stream == 1 && $0.kind == .reset }
          }, port: server.port)
        let first = frames.filter { $0.stream == 1 }
        #expect(first.contains { $0.kind == .headers && $0.ends } && first.last?.errorCode == 0)
        #expect(frames.contains { $0.stream == 3 && $0.kind == .reset })
        #expect(frames.contains { $0.stream == 5 && $0.kind == .headers && $0.ends })
        #expect(!frames.contains { $0.stream == 5 && $0.kind == .reset })
      }
    }

    @Test func `a call with a key sends more than a window`() async throws {
      try await TestServer.run({ $0.serviceKeys = [Self.key] }) { server in
        let request = ProtoCommitRequest.with {
          $0.database = TestServer.database
          $0.writes = [
            .with {
              $0.update.name = TestServer.root + "/a/b"
              $0.update.fields["bytes"] = .with { $0.bytesValue = Data(count: 900_000) }
            }
          ]
        }
        _ = try await server.client.commit(
          request, metadata: ["authorization": "Bearer \(Self.key)"])
      }
    }

    @Test func `streams beyond the limit are refused, and those that end make room`() async throws {
      try await TestServer.run({ $0.limits.runningCalls = 1 }) { server in
        let limit = 1 + UncheckedCalls.limit + CallGate.healthLimit
        // Requests whose bodies do not end. A connection has at most a thousand.
        let open = (0..<700).map {
          Frame.request(UInt32(2 * $0 + 1), "POST", "/v1/\(TestServer.root)/a", ends: false)
        }
        let refused = try await RawConnection.open(port: server.port) { connection in
          connection.begin(open + [.ping])
          let frames = try await connection.frames(until: \.haveAcknowledgedPing)
          let others = try await RawConnection.send(
            open + [.ping], until: { $0.haveAcknowledgedPing && $0.resets(7) >= 1400 - limit },
            port: server.port)
          return frames.resets(7) + others.resets(7)
        }
        #expect(refused == 1400 - limit)
        try await server.eventually {
          let frames = try await RawConnection.send(
            [.request(1, "GET", "/health")], until: { $0.haveEnded(1) }, port: server.port)
          guard frames.contains(where: { $0.stream == 1 && $0.ends }) else {
            throw TestServer.NoAnswer(text: "")
          }
        }
      }
    }

    /// Calls that end at once, and whose answers do not: the client's windows are closed.
    private static func callsWithClosedWindows(_ count: Int) throws -> [Frame] {
      let content: [UInt8] = try ProtoRunQueryRequest.with {
        $0.parent = TestServer.root
        $0.structuredQuery.from = [.with { $0.collectionID = "none" }]
      }.serializedBytes()
      let message = [0, 0, 0, 0, UInt8(content.count)] + content
      var frames = [Frame(kind: .settings, stream: 0, payload: [0, 4, 0, 0, 0, 0])]
      for number in 0..<count {
        let stream = UInt32(2 * number + 1)
        frames += [.call(stream, "RunQuery"), .data(stream, message)]
      }
      return frames
    }

    @Test func `streams count until their answers are sent, though their calls have ended`()
      async throws
    {
      try await TestServer.run({
        $0.limits.runningCalls = 1000
        $0.limits.writeTime = .seconds(300)
      }) { server in
        let count = 800
        let limit = 1000 + UncheckedCalls.limit + CallGate.healthLimit
        let calls = try Self.callsWithClosedWindows(count)
        /// Sends the calls on so many connections, one after the other: fewer at a time than may run.
        func refused(_ connections: Int) async throws -> Int {
          guard connections > 0 else { return 0 }
          return try await RawConnection.open(port: server.port) { connection in
            connection.begin(calls)
            // Each has the head of its answer, or is refused.
            let frames = try await connection.frames { all in
              Set(all.lazy.filter { $0.kind == .headers || $0.kind == .reset }.map(\.stream)).count
                == count
            }
            return try await frames.resets(7) + refused(connections - 1)
          }
        }
        #expect(try await refused(3) == 3 * count - limit)
        #expect(try await server.rest("GET", "/health").status == 200)
      }
    }

    @Test func `a short answer that is not read for a minute ends its stream`() async throws {
      try await TestServer.run({ $0.limits.writeTime = .seconds(1) }) { server in
        func isReset(_ frame: Frame) -> Bool { frame.kind == .reset && frame.stream == 1 }
        let frames = try await RawConnection.send(
          try Self.callsWithClosedWindows(1),
          until: { $0.contains(where: isReset) }, port: server.port)
        #expect(frames.contains(where: isReset))
        #expect(!frames.contains { $0.kind == .data })
      }
    }

    // MARK: A stream without a connection

    private final class Admitted: Sendable {
      private let values = Guarded<[Int?]>([])
      var all: [Int?] { values.withLock { $0 } }
      func add(_ value: Int?) { values.withLock { $0.append(value) } }
    }

    private final class Reads: ChannelOutboundHandler {
      typealias OutboundIn = HTTP2Frame.FramePayload
      var count = 0
      func read(context: ChannelHandlerContext) { count += 1 }
    }

    /// Keeps what is written, and its promises.
    private final class Writes: ChannelOutboundHandler {
      typealias OutboundIn = HTTP2Frame.FramePayload
      var promises: [EventLoopPromise<Void>?] = []
      /// Of frames with data.
      var sizes: [Int?] = []
      var onFirst: (() -> Void)?
      func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let frame = unwrapOutboundIn(data)
        let size: Int? = if case .data(let part) = frame { part.data.readableBytes } else { nil }
        sizes.append(size)
        onFirst.take()?()
        promises.append(promise ?? context.eventLoop.makePromise())
      }
    }

    /// Writes the end of an answer when the stream is not writable.
    private final class Follower: ChannelInboundHandler {
      typealias InboundIn = HTTP2Frame.FramePayload
      typealias OutboundOut = HTTP2Frame.FramePayload
      func channelWritabilityChanged(context: ChannelHandlerContext) {
        context.write(
          wrapOutboundOut(.headers(.init(headers: ["grpc-status": "0"]))), promise: nil)
      }
    }

    private static func data(_ count: Int) -> HTTP2Frame.FramePayload {
      data(Array(repeating: 0, count: count))
    }

    private static func data(_ bytes: [UInt8]) -> HTTP2Frame.FramePayload {
      .data(.init(data: .byteBuffer(ByteBuffer(bytes: bytes))))
    }

    private static func connections(requestBytes: Int? = nil) -> Connections {
      var limits = FirestoreServer.Limits()
      if let requestBytes { (limits.requestBytes, limits.messageBytes) = (requestBytes, 1) }
      return Connections(limits, ServerMetrics(NOOPMetricsHandler.instance)) { _ in }
    }

    private static func withStream(
      _ unchecked: UncheckedCalls?, _ writes: Writes = Writes(),
      connections: Connections = Self.connections(), path: String = "/s/Commit",
      _ body: (EmbeddedChannel, Reads) throws -> Void
    ) throws {
      let reads = Reads()
      let channel = EmbeddedChannel()
      try channel.pipeline.syncOperations.addHandlers(
        reads, writes, StreamGuard(connections, unchecked))
      try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
      reads.count = 0
      try channel.writeInbound(
        HTTP2Frame.FramePayload.headers(
          .init(headers: [
            ":path": path, "content-type": "application/grpc", UncheckedCalls.header: "77",
          ])))
      #expect(connections.streams.current == 1)
      try body(channel, reads)
      _ = try? channel.finish(acceptAlreadyClosed: true)
      for promise in writes.promises { promise?.fail(ChannelError.ioOnClosedChannel) }
      #expect(connections.streams.current == 0)
    }
  }
#endif
