#if Server
  import NIOCore

  /// Answers the PING frames of an HTTP/2 connection before NIO's handler counts them.
  ///
  ///     ┌────────┬──────┬───────┬───────────┬─────────┐
  ///     │ length │ type │ flags │ stream id │ payload │
  ///     │ 3 bytes│ 1    │ 1     │ 4         │ length  │
  ///     └────────┴──────┴───────┴───────────┴─────────┘
  ///
  /// Why: NIO ends a connection after 200 PINGs in 30 seconds. Google's Go client sends about one
  /// with each call, to measure its bandwidth, and would be cut off every few seconds. The limit
  /// here is higher. Beyond it, and while the client does not read, PINGs are passed on to NIO's.
  final class PingAnswerer: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// PINGs in each window, at most: one with each call of a client that makes 10,000 a second.
    static let limit = 100_000
    private static let window = TimeAmount.seconds(10)
    private static let headerBytes = 9
    private static let pingBytes = 17

    /// Bytes to pass on before the next frame. The connection begins with its preface.
    private var passing = ProtocolChooser.preface.count
    /// The begin of a frame whose header, or PING, is not complete.
    private var held: ByteBuffer?
    private var windowEnd = NIODeadline.uptimeNanoseconds(0)
    private var answered = 0
    private var mustFlush = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var input = unwrapInboundIn(data)
      if var held {
        held.writeBuffer(&input)
        input = held
      }
      held = nil
      // All before this index is passed on or answered.
      var done = input.readerIndex
      var index = done
      while index < input.writerIndex {
        let rest = input.writerIndex - index
        if passing > 0 {
          let count = min(passing, rest)
          passing -= count
          index += count
          continue
        }
        guard rest >= Self.headerBytes, let length = Self.length(input, at: index) else { break }
        guard Self.isPing(input, at: index, length), mayAnswer(context) else {
          passing = Self.headerBytes + length
          continue
        }
        guard rest >= Self.pingBytes else { break }
        if index > done, let slice = input.getSlice(at: done, length: index - done) {
          context.fireChannelRead(wrapInboundOut(slice))
        }
        if var answer = input.getSlice(at: index, length: Self.pingBytes) {
          answer.setInteger(1 as UInt8, at: answer.readerIndex + 4)
          context.write(wrapOutboundOut(answer), promise: nil)
          answered += 1
          mustFlush = true
        }
        index += Self.pingBytes
        done = index
      }
      if index > done, let slice = input.getSlice(at: done, length: index - done) {
        context.fireChannelRead(wrapInboundOut(slice))
      }
      if index < input.writerIndex {
        // A copy: the slice would keep the whole read.
        held = input.getBytes(at: index, length: input.writerIndex - index).map {
          context.channel.allocator.buffer(bytes: $0)
        }
      }
      // Closed because of what was read: then there is no read complete, without which NIO's handler and the
      // streams that it has read for keep each other.
      if !context.channel.isActive { context.fireChannelReadComplete() }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      if mustFlush { context.flush() }
      mustFlush = false
      context.fireChannelReadComplete()
    }

    private static func length(_ bytes: ByteBuffer, at index: Int) -> Int? {
      bytes.getInteger(at: index, as: UInt32.self).map { Int($0 >> 8) }
    }

    /// Whether the frame is a valid PING that asks for an answer.
    private static func isPing(_ bytes: ByteBuffer, at index: Int, _ length: Int) -> Bool {
      length == 8 && bytes.getInteger(at: index + 3, as: UInt8.self) == 6
        && bytes.getInteger(at: index + 4, as: UInt8.self).map { $0 & 1 } == 0
        && bytes.getInteger(at: index + 5, as: UInt32.self).map { $0 & 0x7FFF_FFFF } == 0
    }

    private func mayAnswer(_ context: ChannelHandlerContext) -> Bool {
      let now = NIODeadline.now()
      if now >= windowEnd {
        windowEnd = now + Self.window
        answered = 0
      }
      return answered < Self.limit && context.channel.isWritable
    }
  }
#endif
