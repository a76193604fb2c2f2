#if Server
  import Foundation
  import NIOCore
  import NIOEmbedded
  import NIOHTTP2
  import Testing

  @testable import HearthServer

  /// When a connection over HTTP/2 ends, and that nothing of it stays.
  @Suite struct ConnectionEndTests {
    private static let goAway: UInt8 = 7

    @Test func `a connection without a call ends after a while, and one with a call does not`()
      async throws
    {
      try await TestServer.run({ $0.limits.idleTime = .milliseconds(300) }) { server in
        let idle = Self.beginning
        let began = ContinuousClock.now
        let types = Self.frameTypes(
          try await RawConnection.send([idle], port: server.port))
        #expect(types.contains(Self.goAway), "\(types)")
        // This client does not answer: the server closes the connection.
        #expect(began.duration(to: .now) < .seconds(240))

        let headers = [
          (":method", "POST"), (":scheme", "http"), (":authority", "localhost"),
          (":path", "/google.firestore.v1.Firestore/Listen"), ("te", "trailers"),
          ("content-type", "application/grpc"),
        ]
        let block = headers.flatMap { name, value in
          [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
        }
        let busy = Self.beginning + Self.frame(type: 1, flags: 4, stream: 1, block)
        // Its call ends with its reset, when the time begins.
        let reset = Self.frame(type: 3, flags: 0, stream: 1, [0, 0, 0, 8])
        let sent = ContinuousClock.now
        let last = Self.frameTypes(
          try await RawConnection.send(
            [busy, reset], pause: .seconds(2),
            until: { Self.frameTypes($0).contains(Self.goAway) }, port: server.port))
        #expect(last.contains(Self.goAway), "\(last)")
        #expect(sent.duration(to: .now) > .seconds(2))
      }
    }

    /// NIO's handler keeps the streams for which it has read something until the read is complete, which it never is for a
    /// connection that is closed by what was read.
    @Test func `a connection that is closed by what it has sent is freed`() throws {
      weak var handler: NIOHTTP2Handler?
      weak var stream: (any Channel)?
      // ":method: POST", ":scheme: http", ":path: /", ":authority: a".
      let call = Self.frame(type: 1, flags: 4, stream: 1, [0x83, 0x86, 0x84, 0x41, 1, 0x61])
      let wrong = Self.frame(type: 0, flags: 0, stream: 0, [1, 2])

      func connect(_ content: [UInt8]) throws -> Bool {
        let channel = EmbeddedChannel()
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(PingAnswerer())
        let streams = Streams()
        _ = try pipeline.configureHTTP2Pipeline(
          mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
        ) {
          streams.last = $0
          return $0.eventLoop.makeSucceededVoidFuture()
        }
        try pipeline.addHandler(Closing())
        handler = try pipeline.handler(type: NIOHTTP2Handler.self)
        try channel.connect(to: SocketAddress(unixDomainSocketPath: "/none")).wait()
        // As a socket does: a read is complete if the channel is still open then.
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: Self.beginning + content))
        let isOpen = channel.isActive
        if isOpen { channel.pipeline.fireChannelReadComplete() }
        stream = streams.last
        #expect(handler != nil && stream != nil)
        _ = try channel.finish(acceptAlreadyClosed: true)
        channel.embeddedEventLoop.run()
        return isOpen
      }

      #expect(try connect(call))
      #expect(handler == nil && stream == nil)
      #expect(try !connect(call + wrong))
      #expect(handler == nil && stream == nil)
    }

    // MARK: Frames

    private static let beginning =
      ProtocolChooser.preface + frame(type: 4, flags: 0, stream: 0, [])

    private static func frame(type: UInt8, flags: UInt8, stream: UInt8, _ content: [UInt8])
      -> [UInt8]
    {
      [0, 0, UInt8(content.count), type, flags, 0, 0, 0, stream] + content
    }

    private static func frameTypes(_ bytes: [UInt8]) -> [UInt8] {
      var types: [UInt8] = []
      var rest = bytes[...]
      while rest.count >= 9 {
        let head = Array(rest.prefix(9))
        types.append(head[3])
        rest = rest.dropFirst(9 + (Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])))
      }
      return types
    }

    /// Closes a connection that has an error, as gRPC does.
    private final class Closing: ChannelInboundHandler {
      typealias InboundIn = HTTP2Frame

      func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
      }
    }

    /// The stream that began last. Used on one thread.
    private final class Streams: @unchecked Sendable {
      weak var last: (any Channel)?
    }
  }
#endif
