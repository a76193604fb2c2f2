#if Server
  import HearthEngine
  import NIOCore
  import NIOHTTP2

  /// Bounds what one stream of HTTP/2 may cost, and keeps from gRPC's handlers what they cannot read.
  ///
  ///     header  ─▶ too many streams: REFUSED_STREAM
  ///             ─▶ gRPC, and a timeout that is not valid: INVALID_ARGUMENT
  ///             ─▶ gRPC, and the server has keys: nothing more is read until the key is checked
  ///     message ─▶ too many bytes of requests in memory: ENHANCE_YOUR_CALM
  ///             ─▶ not complete after two minutes: the stream is reset
  ///     call    ─▶ the time that its client gave it is over: DEADLINE_EXCEEDED
  ///     answer  ─▶ no part of it, or not its end, is read for a minute: the stream is reset
  ///             ─▶ ended before the request: NO_ERROR, so that the rest is not sent
  ///     close   ─▶ while the header is read: afterwards
  ///
  /// Bytes that are not read fill the stream's window, 64 KiB, and then the client waits. The first
  /// handler of a stream; used on its event loop only.
  final class StreamGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// Bytes of an answer that a client has `Connections.writeTime` to read.
    static let partBytes = 65_536

    /// A frame of at most so many bytes is copied: gRPC keeps a stream's last frame, which would keep
    /// all that its connection read with it.
    private static let copiedBytes = 4096

    private enum State {
      /// No header has come.
      case new
      /// Ended here: drops what comes, and what gRPC's handlers write.
      case refused
      /// gRPC; the gate has not checked the key. Its number among those.
      case unchecked(Int)
      /// The call needs no key: so many bytes more may come.
      case limited(Int)
      case admitted
    }

    private let connections: Connections
    /// Nil if calls need no key.
    private let unchecked: UncheckedCalls?
    private var state = State.new
    private var isCounted = false
    private var mustRead = false
    private var hasRequestEnded = false
    /// Nil for REST, whose requests `HTTPConnection` bounds.
    private var messages: ReceivedMessages?
    /// Bytes of messages that are reserved.
    private var reserved = 0
    private var messageDeadline: Scheduled<Void>?
    private var writeDeadline: Scheduled<Void>?
    /// Bytes written since the last write whose end is noticed.
    private var unnoticedBytes = 0
    /// Some parts of a frame are written, and not all.
    private var isWritingParts = false
    private var hasHeldWritability = false
    private var hasAnswerBegun = false
    /// The header is being read, and NIO's handler has not counted the stream yet.
    private var isOpening = false
    /// The call's number among the connection's deadlines.
    private var callDeadline: Int?
    /// Where this stream is counted.
    private var connection: IdleConnection?
    /// Where its answers are counted, and its number; nil for REST.
    private var answers: (room: AnswerRoom, number: Int)?

    init(_ connections: Connections, _ unchecked: UncheckedCalls?) {
      self.connections = connections
      self.unchecked = unchecked
    }

    static func isGRPC(_ head: HTTP2Frame.FramePayload.Headers) -> Bool {
      head.headers.first(name: "content-type")?.hasPrefix("application/grpc") ?? false
    }

    func handlerAdded(context: ChannelHandlerContext) {
      connection = .of(stream: context.channel)
      connection?.addStream()
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var frame = unwrapInboundIn(data)
      switch (frame, state) {
      case (_, .refused): return
      case (.headers(let head), .new):
        isOpening = true
        hasRequestEnded = head.endStream
        guard let head = open(head, context) else { return }
        frame = .headers(head)
      case (.headers(let trailer), _): hasRequestEnded = hasRequestEnded || trailer.endStream
      case (.data(var part), _):
        hasRequestEnded = hasRequestEnded || part.endStream
        if case .byteBuffer(let bytes) = part.data {
          // Not REFUSED_STREAM: clients repeat those calls, and earlier messages may be applied.
          guard reserve(bytes) else { return refuse(.enhanceYourCalm, context) }
          if bytes.readableBytes <= Self.copiedBytes {
            part.data = .byteBuffer(context.channel.allocator.buffer(buffer: bytes))
            frame = .data(part)
          }
        }
        if case .limited(let bytes) = state {
          let rest = bytes - part.data.readableBytes
          guard rest >= 0 else { return context.close(promise: nil) }
          state = .limited(rest)
        }
      default: break
      }
      context.fireChannelRead(wrapInboundOut(frame))
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      // Not with each message: most are complete with the first read, and need no timer.
      if messages?.isAwaited == true, !hasRequestEnded {
        if messageDeadline == nil {
          messageDeadline = context.eventLoop.assumeIsolated().scheduleTask(
            in: connections.requestTime
          ) {
            context.close(promise: nil)
          }
        }
      } else {
        messageDeadline.take()?.cancel()
      }
      context.fireChannelReadComplete()
      isOpening = false
    }

    /// A handler that cannot read the header closes the stream at once. NIO's handler would then count its
    /// end before its begin, and gRPC's asserts that no stream ends that has not begun.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
      guard isOpening else { return context.close(mode: mode, promise: promise) }
      let closing = NIOLoopBound(context, eventLoop: context.eventLoop)
      context.eventLoop.execute { closing.value.close(mode: mode, promise: promise) }
    }

    /// Returns the header for the next handler; nil if the stream is refused.
    private func open(
      _ head: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext
    ) -> HTTP2Frame.FramePayload.Headers? {
      guard connections.streams.add() else {
        refuse(.refusedStream, context)
        return nil
      }
      isCounted = true
      guard Self.isGRPC(head) else {
        state = .admitted
        return head
      }
      var head = head
      guard let timeout = Self.takeTimeout(of: &head) else {
        refuse(
          .invalidArgument,
          "The header grpc-timeout is one to eight digits and one of H, M, S, m, u and n.", context)
        return nil
      }
      let path = head.headers.first(name: ":path") ?? ""
      messages = ReceivedMessages(of: path)
      if let connection {
        let room = connection.answers.room(for: path.split(separator: "/").last ?? "")
        let number = connection.answers.add(room)
        answers = (room, number)
        head.headers.replaceOrAdd(name: AnswerRoom.header, value: "\(number)")
      }
      if let unchecked {
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        let reading = NIOLoopBound(context, eventLoop: context.eventLoop)
        let number = unchecked.add { [eventLoop = context.eventLoop] limit in
          eventLoop.execute { bound.value.admit(limit: limit, reading.value) }
        }
        guard let number else {
          refuse(.refusedStream, context)
          return nil
        }
        state = .unchecked(number)
        head.headers.replaceOrAdd(name: UncheckedCalls.header, value: "\(number)")
      } else {
        state = .admitted
      }
      if let time = timeout.time {
        callDeadline = connection?.deadlines.add(time, on: context.eventLoop) {
          self.refuse(.deadlineExceeded, "The time of the call is over.", context)
        }
      }
      return head
    }

    /// Takes the time of a call out of its header. Nil for one that is not valid, or is there twice.
    private static func takeTimeout(
      of head: inout HTTP2Frame.FramePayload.Headers
    ) -> CallTimeout? {
      let texts = head.headers[CallTimeout.header]
      guard let text = texts.first else { return .unlimited }
      head.headers.remove(name: CallTimeout.header)
      return texts.count == 1 ? CallTimeout(text) : nil
    }

    /// Answers a call of gRPC with a status, in place of gRPC's handlers.
    private func refuse(
      _ code: Status.Code, _ message: String, _ context: ChannelHandlerContext
    ) {
      if case .refused = state { return }
      end()
      var trailers = HTTP2Frame.FramePayload.Headers(
        headers: hasAnswerBegun ? [:] : [":status": "200", "content-type": "application/grpc"],
        endStream: true)
      trailers.headers.add(name: "grpc-status", value: "\(code.rawValue)")
      trailers.headers.add(name: "grpc-message", value: message)
      write(.headers(trailers), context, promise: nil)
      state = .refused
      context.flush()
    }

    private func refuse(_ code: HTTP2ErrorCode, _ context: ChannelHandlerContext) {
      end()
      state = .refused
      context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
      context.close(promise: nil)
    }

    /// Counts bytes of messages: of a call with one message until the call ends, of others until the
    /// message is complete. False if there are too many.
    private func reserve(_ bytes: ByteBuffer) -> Bool {
      guard var received = messages.take() else { return true }
      defer { messages = received }
      guard connections.requestBytes.add(bytes.readableBytes) else { return false }
      reserved += bytes.readableBytes
      if received.take(bytes.readableBytesView) { messageDeadline.take()?.cancel() }
      if received.areMany {
        connections.requestBytes.remove(reserved - received.incompleteBytes)
        reserved = received.incompleteBytes
      }
      return true
    }

    private func admit(limit: Int?, _ context: ChannelHandlerContext) {
      guard case .unchecked = state else { return }
      state = limit.map { .limited($0) } ?? .admitted
      if mustRead { context.read() }
    }

    func read(context: ChannelHandlerContext) {
      if case .unchecked = state {
        mustRead = true
      } else {
        context.read()
      }
    }

    // MARK: The answer

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      if case .refused = state {
        promise?.fail(ChannelError.ioOnClosedChannel)
        return
      }
      write(unwrapOutboundIn(data), context, promise: promise)
    }

    private func write(
      _ frame: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext,
      promise: EventLoopPromise<Void>?
    ) {
      var frame = frame
      var promise = promise
      var isLast = false
      switch frame {
      case .headers(let head):
        isLast = head.endStream
        hasAnswerBegun = true
      case .data(var part):
        isLast = part.endStream
        guard case .byteBuffer(var bytes) = part.data else { break }
        isWritingParts = bytes.readableBytes > Self.partBytes
        while bytes.readableBytes > Self.partBytes,
          let first = bytes.readSlice(length: Self.partBytes)
        {
          context.write(
            wrapOutboundOut(.data(.init(data: .byteBuffer(first)))),
            promise: counting(first.readableBytes, noticing(nil, context), context))
        }
        unnoticedBytes += bytes.readableBytes
        if unnoticedBytes >= Self.partBytes { promise = noticing(promise, context) }
        promise = counting(bytes.readableBytes, promise, context)
        part.data = .byteBuffer(bytes)
        frame = .data(part)
      default: break
      }
      // A complete answer gets no second end.
      if isLast, let number = callDeadline.take() { connection?.deadlines.remove(number) }
      if isLast {
        // Even a short answer may wait for the client's window.
        let deadline = connection?.deadlines.add(connections.writeTime, on: context.eventLoop) {
          context.close(promise: nil)
        }
        let end = promise ?? context.eventLoop.makePromise()
        end.futureResult.assumeIsolated().whenComplete { [connection] result in
          if let deadline { connection?.deadlines.remove(deadline) }
          // The request's end may have come in the meantime, and then the stream is closed.
          guard case .success = result, !self.hasRequestEnded, context.channel.isActive else {
            return
          }
          context.writeAndFlush(self.wrapOutboundOut(.rstStream(.noError)), promise: nil)
        }
        promise = end
      }
      context.write(wrapOutboundOut(frame), promise: promise)
      isWritingParts = false
      if hasHeldWritability {
        hasHeldWritability = false
        context.fireChannelWritabilityChanged()
      }
    }

    /// Counts bytes until they are sent, or never will be. `HTTPConnection` waits until its parts are sent.
    private func counting(
      _ bytes: Int, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void>? {
      guard bytes >= AnswerBudget.countedBytes,
        let room = answers?.room
      else { return promise }
      let promise = promise ?? context.eventLoop.makePromise()
      room.write(bytes)
      promise.futureResult.whenComplete { result in
        room.sent(bytes, isProgress: (try? result.get()) != nil)
      }
      return promise
    }

    /// The time of the client begins again when the data of this promise is sent.
    private func noticing(
      _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) -> EventLoopPromise<Void> {
      unnoticedBytes = 0
      let promise = promise ?? context.eventLoop.makePromise()
      promise.futureResult.assumeIsolated().whenSuccess {
        if self.writeDeadline != nil { self.setWriteDeadline(context) }
      }
      return promise
    }

    private func setWriteDeadline(_ context: ChannelHandlerContext) {
      writeDeadline.take()?.cancel()
      writeDeadline = context.eventLoop.assumeIsolated().scheduleTask(in: connections.writeTime) {
        context.close(promise: nil)
      }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      if context.channel.isWritable {
        writeDeadline.take()?.cancel()
      } else {
        setWriteDeadline(context)
      }
      // gRPC's handler then writes what it still has, which must follow the rest of the frame.
      guard !isWritingParts else { return hasHeldWritability = true }
      context.fireChannelWritabilityChanged()
    }

    // MARK: The end

    func channelInactive(context: ChannelHandlerContext) {
      end()
      uncount()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      end()
      uncount()
      connection?.removeStream()
      connection = nil
    }

    private func end() {
      messageDeadline.take()?.cancel()
      writeDeadline.take()?.cancel()
      if let callDeadline { connection?.deadlines.remove(callDeadline) }
      callDeadline = nil
      connections.requestBytes.remove(reserved)
      reserved = 0
      messages = nil
      if case .unchecked(let number) = state { unchecked?.remove(number) }
      if case .refused = state {} else { state = .admitted }
    }

    /// Called when the stream has ended: a refused one may still have an answer in memory.
    private func uncount() {
      if isCounted { connections.streams.remove() }
      if let answers { connection?.answers.remove(answers.number) }
      isCounted = false
    }
  }

  /// The messages of a call over gRPC that have arrived, as far as they have.
  ///
  ///     ┌──────┬────────┬──────────────────┬──────┬────────┬──────
  ///     │ flag │ length │ message (length) │ flag │ length │ …
  ///     └──────┴────────┴──────────────────┴──────┴────────┴──────
  struct ReceivedMessages {
    private static let headBytes = 5

    /// The call may have any number of messages.
    let areMany: Bool
    private var headCount = 0
    private var length = 0
    private var contentCount = 0
    private var hasMessage = false

    init(of path: String) { areMany = path.hasSuffix("/Listen") || path.hasSuffix("/Write") }

    /// Bytes of the message that is not complete.
    var incompleteBytes: Int { headCount + contentCount }

    /// The client has begun a message, or has not sent the one of its call.
    var isAwaited: Bool { areMany ? incompleteBytes > 0 : !hasMessage }

    /// Returns whether a message is complete with these bytes.
    mutating func take(_ bytes: ByteBufferView) -> Bool {
      var rest = bytes
      var isComplete = false
      while let byte = rest.first {
        if headCount < Self.headBytes {
          rest.removeFirst()
          headCount += 1
          if headCount > 1 { length = length << 8 | Int(byte) }
        } else {
          let count = min(rest.count, length - contentCount)
          rest.removeFirst(count)
          contentCount += count
        }
        if headCount == Self.headBytes, contentCount == length {
          (headCount, length, contentCount) = (0, 0, 0)
          hasMessage = true
          isComplete = true
        }
      }
      return isComplete
    }
  }
#endif
