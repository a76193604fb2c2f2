#if Server
  import NIOCore
  import NIOHTTP2

  /// Decides by the header of a stream of HTTP/2 whether gRPC or REST answers it.
  ///
  ///     frames ─▶ guard ─▶ chooser ─┬─ content-type application/grpc… ─▶ gRPC
  ///                                 └─ anything else ─▶ codec ─▶ HTTPConnection │ gRPC's handlers, unused
  ///
  /// To REST, each stream is a connection with one request. As in a connection over HTTP/1, gRPC's
  /// handlers stay in the pipeline.
  final class StreamChooser: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload

    private let connections: Connections
    private let answer: HTTPConnection.Answer
    private let bodyLimit: Int

    init(
      _ connections: Connections, bodyLimit: Int, _ answer: @escaping HTTPConnection.Answer
    ) {
      self.connections = connections
      self.bodyLimit = bodyLimit
      self.answer = answer
    }

    /// Puts a chooser, and a guard before it, before gRPC's handlers.
    static func add(
      to channel: any Channel, _ connections: Connections, _ unchecked: UncheckedCalls?,
      bodyLimit: Int, _ answer: @escaping HTTPConnection.Answer
    ) -> EventLoopFuture<Void> {
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandlers(
          StreamGuard(connections, unchecked),
          StreamChooser(connections, bodyLimit: bodyLimit, answer), position: .first)
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let pipeline = context.pipeline.syncOperations
      if case .headers(let head) = unwrapInboundIn(data), !StreamGuard.isGRPC(head) {
        do {
          try pipeline.addHandlers(
            HTTP2FramePayloadToHTTP1ServerCodec(),
            HTTPConnection(connections, bodyLimit: bodyLimit, answer), position: .after(self))
        } catch {
          return context.close(promise: nil)
        }
      }
      context.fireChannelRead(data)
      pipeline.removeHandler(context: context, promise: nil)
    }
  }
#endif
