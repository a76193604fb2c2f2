#if Server
  import NIOCore

  /// Ends a connection over HTTP/2 that has no stream for a while: with GOAWAY, as at a shutdown.
  ///
  /// Clients connect again with their next call. Why not gRPC's own limit: its timer and its handler
  /// keep each other when the connection has ended. Used on the connection's event loop only.
  final class IdleConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let time: TimeAmount
    private var context: ChannelHandlerContext?
    private var streams = 0
    private var deadline: Scheduled<Void>?

    init(_ time: TimeAmount) { self.time = time }

    /// That of a stream's connection.
    static func of(stream: any Channel) -> IdleConnection? {
      try? stream.parent?.pipeline.syncOperations.handler(type: IdleConnection.self)
    }

    func handlerAdded(context: ChannelHandlerContext) {
      self.context = context
      wait()
    }

    func addStream() {
      streams += 1
      deadline?.cancel()
      deadline = nil
    }

    func removeStream() {
      streams -= 1
      if streams == 0 { wait() }
    }

    private func wait() {
      guard let context, context.channel.isActive else { return }
      deadline = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
        context.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
      deadline?.cancel()
      deadline = nil
      context = nil
    }
  }
#endif
