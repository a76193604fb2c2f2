#if Server
  import NIOCore
  import NIOHTTP1
  import NIOHTTP2

  /// Decides by the first bytes of a connection whether it speaks HTTP/2 or HTTP/1.
  ///
  ///     bytes ─▶ TLS, if any ─▶ chooser ─┬─ "PRI * HTTP/2.0…" ─▶ idle time ─▶ pings ─▶ HTTP/2 ─▶ streams
  ///                                      └─ anything else ─▶ HTTP/1 ─▶ REST │ gRPC's handlers, unused
  ///
  /// gRPC's handlers are in every pipeline, because the transport adds them first. They are active
  /// only after the choice of HTTP/2: until then, and for HTTP/1 until the end, nothing that they
  /// write is sent, and nothing that the client sends reaches them. A connection over HTTP/1 costs
  /// the memory of those handlers. For the streams of HTTP/2, see `StreamChooser`.
  final class ProtocolChooser: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// Time for the first bytes, and for TLS before them.
    static let patience = TimeAmount.seconds(10)

    private let connections: Connections
    private let service: HTTPConnection.Service
    private var held: ByteBuffer?
    /// Whether something behind this handler may be sent.
    private var hasChosen = false
    private var deadline: Scheduled<Void>?

    init(_ connections: Connections, _ service: HTTPConnection.Service) {
      self.connections = connections
      self.service = service
    }

    /// Puts a chooser before gRPC's handlers, and after TLS.
    static func add(
      to channel: any Channel, _ connections: Connections, _ service: HTTPConnection.Service
    ) -> EventLoopFuture<Void> {
      channel.eventLoop.makeCompletedFuture {
        let pipeline = channel.pipeline.syncOperations
        let chooser = ProtocolChooser(connections, service)
        try pipeline.addHandler(
          chooser, position: .before(try pipeline.handler(type: NIOHTTP2Handler.self)))
      }
    }

    func channelActive(context: ChannelHandlerContext) {
      guard connections.add(context.channel) else { return context.close(promise: nil) }
      let closing = NIOLoopBound(context, eventLoop: context.eventLoop)
      deadline = context.eventLoop.scheduleTask(in: Self.patience) {
        closing.value.close(promise: nil)
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      if var held {
        held.writeBuffer(&bytes)
        bytes = held
      }
      let isHTTP2 = zip(bytes.readableBytesView, Self.preface).allSatisfy(==)
      guard !isHTTP2 || bytes.readableBytes >= Self.preface.count else {
        held = bytes
        return
      }
      held = nil
      deadline?.cancel()
      do {
        let pipeline = context.pipeline.syncOperations
        let http2 = try pipeline.handler(type: NIOHTTP2Handler.self)
        if isHTTP2 {
          let connection = IdleConnection(connections.idleTime, connections.answers.connection())
          try pipeline.addHandlers(connection, PingAnswerer(), position: .before(http2))
          connections.isHTTP2(context.channel, connection.answers)
          hasChosen = true
          context.fireChannelActive()
        } else {
          var limits = NIOHTTPDecoderLimitConfiguration()
          limits.maxHeaderFieldSize = 16_384
          limits.maxHeaderListSize = 65_536
          limits.maxHeaderFieldCount = 128
          try pipeline.configureHTTPServerPipeline(
            position: .before(http2), withPipeliningAssistance: false, withErrorHandling: false,
            withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
          try pipeline.addHandler(
            HTTPConnection(connections, service), position: .before(http2))
          hasChosen = true
        }
      } catch {
        return context.close(promise: nil)
      }
      context.fireChannelRead(wrapInboundOut(bytes))
      context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      guard hasChosen else {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) { if hasChosen { context.flush() } }

    func channelReadComplete(context: ChannelHandlerContext) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      // The server is shutting down, and this connection has no call.
      if event is ChannelShouldQuiesceEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      deadline?.cancel()
      // gRPC's handlers end their work only if they were active.
      context.fireChannelActive()
      context.fireChannelInactive()
    }
  }
#endif
