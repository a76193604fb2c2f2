#if Server
  import NIOCore
  import NIOHTTP1

  /// A connection over HTTP/1, or a stream of HTTP/2, which has one request: one request at a time,
  /// each answered by a function.
  ///
  ///     waiting ─ head ─▶ checking ─▶ receiving ─ end ─▶ answering ─ end ─▶ sending ─▶ waiting
  ///        │                  │           │ body too large: 413     │          │
  ///        │                  └─ no key ──┼──▶ answering ─▶ ending   │          │
  ///        └──────────────────────────────┴─ not HTTP: 400; too slow ─▶ ending ◀┘
  ///
  /// Nothing of a body is read before the key is checked.
  ///
  /// Later requests wait until the answer to one is sent, and nothing more is read meanwhile. NIO's
  /// own handler for that is not used: it traps in debug builds if a server shuts down while half a
  /// request is there.
  ///
  /// The last handler that is used: gRPC's handlers behind it receive nothing before the end, and
  /// nothing that they write is sent. Used on its event loop only.
  final class HTTPConnection: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = HTTPServerResponsePart

    /// Answers a request, in a task that is cancelled when the connection ends.
    typealias Answer = @Sendable (HTTPRequest, HTTPResponseWriter) async -> Void
    /// Returns how many bytes the body of a request may have, by its head; nil if it is to be answered
    /// without one.
    typealias Check = @Sendable (HTTPRequest) async -> Int?

    /// How requests are checked and answered.
    struct Service: Sendable {
      let bodyLimit: Int
      let answer: Answer
      /// Nil if requests need no key.
      var check: Check?
    }

    /// Time for the head of the first request.
    private static let headTime = TimeAmount.seconds(10)
    /// Time between a request and the next one's head.
    private static let idleTime = TimeAmount.seconds(60)
    /// Time in which the client closes the connection after the last answer. Closed at once, with
    /// bytes of the client unread, the connection would lose the answer.
    private static let endTime = TimeAmount.seconds(5)

    private enum State {
      case waiting
      case checking(HTTPRequestHead, Task<Void, Never>)
      case receiving(HTTPRequestHead, ByteBuffer, limit: Int)
      case answering(Answering)
      /// The end of the answer is not sent yet.
      case sending(keepsAlive: Bool)
      /// Drops what comes.
      case ending
    }

    private struct Answering {
      var task: Task<Void, Never>?
      var keepsAlive: Bool
      /// An answer to HEAD has no body.
      var isHead = false
      /// The head of the answer is sent.
      var hasBegun = false
    }

    private let connections: Connections
    private let service: Service
    /// Nil for a connection over HTTP/1.
    private let answers: AnswerBudget.Connection?
    /// Bytes of the request that are reserved.
    private var reserved = 0
    private var state = State.waiting
    /// The number of the request whose head came last.
    private(set) var request = 0
    private var deadline: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// Parts of later requests.
    private var following: [HTTPServerRequestPart] = []
    private var mustRead = false

    init(
      _ connections: Connections, _ service: Service, _ answers: AnswerBudget.Connection? = nil
    ) {
      self.connections = connections
      self.service = service
      self.answers = answers
    }

    func handlerAdded(context: ChannelHandlerContext) {
      self.context = context
      setDeadline(Self.headTime)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      end()
      self.context = nil
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let part = unwrapInboundIn(data)
      if isBusy { following.append(part) } else { take(part, context) }
    }

    /// Parts that arrive now wait for later.
    private var isBusy: Bool {
      switch state {
      case .checking, .answering, .sending: true
      case .waiting, .receiving, .ending: false
      }
    }

    private func take(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
      switch (part, state) {
      case (.head(let head), .waiting):
        setDeadline(connections.requestTime)
        request += 1
        guard let check = service.check else {
          return receive(head, limit: service.bodyLimit, context)
        }
        let asked = HTTPRequest(head, ByteBuffer(), answers, context)
        let connection = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        let task = Task(executorPreference: EventLoopExecutor.of(context.eventLoop)) {
          [request, eventLoop = context.eventLoop] in
          let limit = await check(asked)
          eventLoop.execute {
            let (connection, context) = connection.value
            connection.admit(request, limit: limit, context)
          }
        }
        state = .checking(head, task)
      case (.body(var part), .receiving(let head, var body, let limit)):
        guard body.readableBytes + part.readableBytes <= limit else { return refuseBody(limit) }
        guard connections.requestBytes.add(part.readableBytes) else {
          return refuse(
            .serviceUnavailable, "The server has too many requests in memory.", "UNAVAILABLE")
        }
        reserved += part.readableBytes
        // The state has no second reference to the body meanwhile.
        state = .waiting
        body.writeBuffer(&part)
        state = .receiving(head, body, limit: limit)
      case (.end, .receiving(let head, let body, _)):
        answer(head, body, keepsAlive: Self.keepsAlive(head), context)
      default:
        // The rest of a refused request.
        break
      }
    }

    /// The key of a request is checked.
    private func admit(_ request: Int, limit: Int?, _ context: ChannelHandlerContext) {
      guard case .checking(let head, _) = state, request == self.request else { return }
      guard let limit else {
        following = []
        return answer(head, ByteBuffer(), keepsAlive: false, context)
      }
      receive(head, limit: limit, context)
      takeFollowing(context)
    }

    private func receive(_ head: HTTPRequestHead, limit: Int, _ context: ChannelHandlerContext) {
      state = .receiving(head, ByteBuffer(), limit: limit)
      let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
      guard length <= limit else { return refuseBody(limit) }
      if head.headers.first(name: "expect")?.lowercased() == "100-continue" {
        let head = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(head)), promise: nil)
      }
    }

    private func answer(
      _ head: HTTPRequestHead, _ body: ByteBuffer, keepsAlive: Bool,
      _ context: ChannelHandlerContext
    ) {
      deadline.take()?.cancel()
      let asked = HTTPRequest(head, body, answers, context)
      let writer = HTTPResponseWriter(
        NIOLoopBound(self, eventLoop: context.eventLoop), request, context.eventLoop)
      // JSON of many bytes is read and written for long.
      let isShort = body.readableBytes <= StreamGuard.partBytes
      let executor = isShort ? EventLoopExecutor.of(context.eventLoop) : nil
      let task = Task(executorPreference: executor) { [service] in
        await service.answer(asked, writer)
        // The answer may have been left without an end.
        writer.abandon()
      }
      state = .answering(
        Answering(task: task, keepsAlive: keepsAlive, isHead: head.method == .HEAD))
    }

    /// A stream of HTTP/2 has one request.
    private static func keepsAlive(_ head: HTTPRequestHead) -> Bool {
      head.version == .http1_1 && head.isKeepAlive
    }

    private func takeFollowing(_ context: ChannelHandlerContext) {
      while !following.isEmpty {
        if isBusy { return }
        take(following.removeFirst(), context)
      }
      if mustRead { read(context: context) }
    }

    func read(context: ChannelHandlerContext) {
      if isBusy {
        mustRead = true
      } else {
        mustRead = false
        context.read()
      }
    }

    private func refuseBody(_ limit: Int) {
      refuse(.payloadTooLarge, "The request has more than \(limit) bytes.")
    }

    private func refuse(
      _ status: HTTPResponseStatus, _ message: String, _ name: String = "INVALID_ARGUMENT"
    ) {
      state = .answering(Answering(task: nil, keepsAlive: false))
      let body = HTTPResponseWriter.errorBody(code: Int(status.code), message, status: name)
      _ = send(HTTPResponseWriter.head(status, bytes: body.count))
      _ = send(body)
      _ = sendEnd()
    }

    // MARK: The answer

    /// Nil if the request has an answer already, or the connection has ended.
    func send(_ head: HTTPResponseHead) -> EventLoopFuture<Void>? {
      guard case .answering(var answering) = state, !answering.hasBegun else { return nil }
      answering.hasBegun = true
      state = .answering(answering)
      var head = head
      if !answering.keepsAlive { head.headers.replaceOrAdd(name: "connection", value: "close") }
      return send(.head(head), flushing: false)
    }

    func send(_ body: [UInt8]) -> EventLoopFuture<Void>? {
      guard case .answering(let answering) = state, answering.hasBegun, let context else {
        return nil
      }
      if answering.isHead { return context.eventLoop.makeSucceededVoidFuture() }
      let buffer = context.channel.allocator.buffer(bytes: body)
      return send(.body(.byteBuffer(buffer)), flushing: true)
    }

    func sendEnd() -> EventLoopFuture<Void>? {
      guard case .answering(let answering) = state, answering.hasBegun, let context else {
        return nil
      }
      state = .sending(keepsAlive: answering.keepsAlive)
      free()
      let sent = send(.end(nil), flushing: true)
      if case .sending = state { setDeadline(connections.writeTime) }
      sent?.assumeIsolated().whenSuccess {
        guard case .sending(let keepsAlive) = self.state else { return }
        if keepsAlive {
          self.state = .waiting
          self.setDeadline(Self.idleTime)
          return self.takeFollowing(context)
        }
        self.state = .ending
        self.following = []
        self.setDeadline(Self.endTime)
        context.close(mode: .output, promise: nil)
        if self.mustRead { self.read(context: context) }
      }
      return sent
    }

    /// Closes the connection if its request is still without a whole answer.
    func abandon() {
      if case .answering = state { context?.close(promise: nil) }
    }

    private func send(
      _ part: HTTPServerResponsePart, flushing: Bool
    ) -> EventLoopFuture<Void>? {
      guard let context else { return nil }
      guard flushing else {
        context.write(wrapOutboundOut(part), promise: nil)
        return context.eventLoop.makeSucceededVoidFuture()
      }
      if case .answering = state { setDeadline(connections.writeTime) }
      let sent = context.writeAndFlush(wrapOutboundOut(part))
      sent.assumeIsolated().whenComplete { _ in
        // The next part waits for this one; until then, the answer takes the time that it needs.
        if case .answering = self.state { self.deadline.take()?.cancel() }
      }
      return sent
    }

    // MARK: The end

    private func setDeadline(_ time: TimeAmount) {
      deadline.take()?.cancel()
      guard let context else { return }
      deadline = context.eventLoop.assumeIsolated().scheduleTask(in: time) {
        self.end()
        context.close(promise: nil)
      }
    }

    private func free() {
      connections.requestBytes.remove(reserved)
      reserved = 0
    }

    private func end() {
      deadline.take()?.cancel()
      free()
      switch state {
      case .checking(_, let task): task.cancel()
      case .answering(let answering): answering.task?.cancel()
      case .waiting, .receiving, .sending, .ending: break
      }
      state = .ending
      following = []
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      switch state {
      case .waiting, .checking, .receiving:
        guard error is HTTPParserError, context.channel.isActive else { fallthrough }
        if case .checking(_, let task) = state { task.cancel() }
        deadline.take()?.cancel()
        refuse(.badRequest, "The request is not valid HTTP/1: \(error)")
      case .answering, .sending, .ending:
        end()
        context.close(promise: nil)
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event is ChannelShouldQuiesceEvent else { return }
      switch state {
      case .answering(var answering):
        answering.keepsAlive = false
        state = .answering(answering)
      case .sending: state = .sending(keepsAlive: false)
      case .waiting, .checking, .receiving, .ending:
        end()
        context.close(promise: nil)
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      end()
      // gRPC's handlers end their work only if they were active.
      context.fireChannelActive()
      context.fireChannelInactive()
    }

    // MARK: Nothing for gRPC, and nothing from it

    func channelActive(context: ChannelHandlerContext) {}
    func channelReadComplete(context: ChannelHandlerContext) {}
    func channelWritabilityChanged(context: ChannelHandlerContext) {}

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      promise?.fail(ChannelError.ioOnClosedChannel)
    }

    func flush(context: ChannelHandlerContext) {}
  }

  /// A request of REST, as a whole.
  struct HTTPRequest: Sendable {
    var method: HTTPMethod
    /// The path and the query, as sent.
    var target: String
    var headers: HTTPHeaders
    var body: [UInt8]
    var peer: String
    var localPeer: String
    /// Those of its connection over HTTP/2.
    var answers: AnswerBudget.Connection?
  }

  extension HTTPRequest {
    fileprivate init(
      _ head: HTTPRequestHead, _ body: ByteBuffer, _ answers: AnswerBudget.Connection?,
      _ context: ChannelHandlerContext
    ) {
      self.init(
        method: head.method, target: head.uri, headers: head.headers,
        body: Array(body.readableBytesView), peer: Connections.peer(of: context.channel),
        localPeer: Connections.localPeer(of: context.channel), answers: answers)
    }
  }
#endif
