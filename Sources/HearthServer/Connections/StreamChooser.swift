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
    private let service: HTTPConnection.Service

    init(_ connections: Connections, _ service: HTTPConnection.Service) {
      self.connections = connections
      self.service = service
    }

    /// Puts a chooser, and a guard before it, before gRPC's handlers.
    static func add(
      to channel: any Channel, _ connections: Connections, _ unchecked: UncheckedCalls?,
      _ service: HTTPConnection.Service
    ) -> EventLoopFuture<Void> {
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandlers(
          StreamGuard(connections, unchecked),
          StreamChooser(connections, service), position: .first)
      }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let pipeline = context.pipeline.syncOperations
      if case .headers(let head) = unwrapInboundIn(data), !StreamGuard.isGRPC(head) {
        do {
          try pipeline.addHandlers(
            HTTP2FramePayloadToHTTP1ServerCodec(),
            HTTPConnection(
              connections, service, IdleConnection.of(stream: context.channel)?.answers),
            position: .after(self))
        } catch {
          return context.close(promise: nil)
        }
      }
      context.fireChannelRead(data)
      pipeline.removeHandler(context: context, promise: nil)
    }
  }
#endif
