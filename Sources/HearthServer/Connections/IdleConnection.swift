#if Server
  import NIOCore

  /// Ends a connection over HTTP/2 that has no stream for a while: with GOAWAY, as at a shutdown, and
  /// then by closing it, if the client does not answer.
  ///
  /// Clients connect again with their next call. Why not gRPC's own limit: its timer and its handler
  /// keep each other when the connection has ended. Used on the connection's event loop only.
  final class IdleConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// Time for a client to answer GOAWAY.
    private static let grace = TimeAmount.seconds(10)

    /// The deadlines of the calls of the connection.
    let deadlines = CallDeadlines()

    /// The answers of the calls of the connection.
    let answers: AnswerBudget.Connection

    private let time: TimeAmount
    private var context: ChannelHandlerContext?
    private var streams = 0
    private var deadline: Scheduled<Void>?

    init(_ time: TimeAmount, _ answers: AnswerBudget.Connection) {
      self.time = time
      self.answers = answers
    }

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
      deadline.take()?.cancel()
    }

    func removeStream() {
      streams -= 1
      if streams == 0 { wait() }
    }

    private func wait() {
      afterward(time) { context in
        context.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        // gRPC waits for the client's answer, for ever.
        self.afterward(min(self.time, Self.grace)) { $0.close(promise: nil) }
      }
    }

    private func afterward(_ time: TimeAmount, _ body: @escaping (ChannelHandlerContext) -> Void) {
      guard let context, context.channel.isActive else { return }
      deadline = context.eventLoop.assumeIsolated().scheduleTask(in: time) { body(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
      deadline.take()?.cancel()
      deadlines.removeAll()
      answers.end()
      context = nil
    }
  }
#endif
