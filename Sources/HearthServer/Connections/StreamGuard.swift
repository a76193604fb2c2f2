#if Server
  import NIOCore
  import NIOHTTP2

  /// Bounds what one stream of HTTP/2 may cost.
  ///
  ///     header ─▶ too many streams: REFUSED_STREAM
  ///            ─▶ gRPC, and the server has keys: nothing more is read until the key is checked
  ///     answer ─▶ not read for a minute: the stream is reset
  ///            ─▶ ended before the request: NO_ERROR, so that the rest is not sent
  ///
  /// Bytes that are not read fill the stream's window, 64 KiB, and then the client waits. The first
  /// handler of a stream; used on its event loop only.
  final class StreamGuard: ChannelDuplexHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias InboundOut = HTTP2Frame.FramePayload
    typealias OutboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    /// Time in which the client reads a part of an answer.
    static let writeTime = TimeAmount.seconds(60)

    /// A frame of at most so many bytes is copied: gRPC keeps a stream's last frame, which would keep
    /// all that its connection read with it.
    private static let copiedBytes = 4096

    private enum State {
      /// No header has come.
      case new
      case refused
      /// gRPC; the gate has not checked the key. Its number among those.
      case unchecked(UInt64)
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
    private var deadline: Scheduled<Void>?

    init(_ connections: Connections, _ unchecked: UncheckedCalls?) {
      self.connections = connections
      self.unchecked = unchecked
    }

    static func isGRPC(_ head: HTTP2Frame.FramePayload.Headers) -> Bool {
      head.headers.first(name: "content-type")?.hasPrefix("application/grpc") ?? false
    }

    // MARK: The request

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var frame = unwrapInboundIn(data)
      switch (frame, state) {
      case (_, .refused): return
      case (.headers(let head), .new):
        guard let head = open(head, context) else { return refuse(context) }
        hasRequestEnded = head.endStream
        frame = .headers(head)
      case (.headers(let trailer), _): hasRequestEnded = hasRequestEnded || trailer.endStream
      case (.data(var part), _):
        hasRequestEnded = hasRequestEnded || part.endStream
        if case .byteBuffer(let bytes) = part.data, bytes.readableBytes <= Self.copiedBytes {
          part.data = .byteBuffer(context.channel.allocator.buffer(buffer: bytes))
          frame = .data(part)
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

    /// Returns the header for the next handler; nil if there are too many streams.
    private func open(
      _ head: HTTP2Frame.FramePayload.Headers, _ context: ChannelHandlerContext
    ) -> HTTP2Frame.FramePayload.Headers? {
      guard connections.addStream() else { return nil }
      isCounted = true
      guard let unchecked, Self.isGRPC(head) else {
        state = .admitted
        return head
      }
      let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
      let reading = NIOLoopBound(context, eventLoop: context.eventLoop)
      let number = unchecked.add { [eventLoop = context.eventLoop] limit in
        eventLoop.execute { bound.value.admit(limit: limit, reading.value) }
      }
      guard let number else { return nil }
      state = .unchecked(number)
      var head = head
      head.headers.replaceOrAdd(name: UncheckedCalls.header, value: "\(number)")
      return head
    }

    private func refuse(_ context: ChannelHandlerContext) {
      state = .refused
      context.writeAndFlush(wrapOutboundOut(.rstStream(.refusedStream)), promise: nil)
      context.close(promise: nil)
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
      let isLast =
        switch unwrapOutboundIn(data) {
        case .headers(let head): head.endStream
        case .data(let part): part.endStream
        default: false
        }
      guard isLast, !hasRequestEnded else { return context.write(data, promise: promise) }
      let promise = promise ?? context.eventLoop.makePromise()
      promise.futureResult.assumeIsolated().whenSuccess {
        // The request's end may have come in the meantime, and then the stream is closed.
        guard !self.hasRequestEnded, context.channel.isActive else { return }
        context.writeAndFlush(self.wrapOutboundOut(.rstStream(.noError)), promise: nil)
      }
      context.write(data, promise: promise)
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
      deadline?.cancel()
      deadline = nil
      if !context.channel.isWritable {
        deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.writeTime) {
          context.close(promise: nil)
        }
      }
      context.fireChannelWritabilityChanged()
    }

    // MARK: The end

    func channelInactive(context: ChannelHandlerContext) {
      end()
      context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }

    private func end() {
      deadline?.cancel()
      deadline = nil
      if case .unchecked(let number) = state { unchecked?.remove(number) }
      if case .refused = state {} else { state = .admitted }
      if isCounted { connections.removeStream() }
      isCounted = false
    }
  }
#endif
