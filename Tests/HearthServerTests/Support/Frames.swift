#if Server
  @testable import HearthServer

  /// A frame of HTTP/2, for clients that send bytes as they are.
  struct Frame: Equatable {
    enum Kind: UInt8 {
      case data, headers, priority, reset, settings, promise, ping, goAway, window, continuation
    }

    var kind: Kind?
    var flags: UInt8 = 0
    var stream: UInt32
    var payload: [UInt8] = []

    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4

    static let ping = Frame(kind: .ping, stream: 0, payload: Array(1...8))

    /// The begin of a connection.
    static let preface = ProtocolChooser.preface + Frame(kind: .settings, stream: 0).bytes

    var ends: Bool { (kind == .data || kind == .headers) && flags & Self.endStream != 0 }

    /// The code of a reset.
    var errorCode: UInt8? { kind == .reset ? payload.last : nil }

    static func headers(_ stream: UInt32, _ fields: [(String, String)], ends: Bool) -> Frame {
      // Literals without Huffman's code and without the table.
      let payload = fields.flatMap { name, value in
        [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
      }
      return Frame(
        kind: .headers, flags: endHeaders | (ends ? endStream : 0), stream: stream, payload: payload
      )
    }

    /// A request over REST.
    static func request(
      _ stream: UInt32, _ method: String, _ path: String, ends: Bool = true
    ) -> Frame {
      headers(
        stream,
        [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")],
        ends: ends)
    }

    /// The begin of a call of gRPC.
    static func call(
      _ stream: UInt32, _ method: String, service: String = "google.firestore.v1.Firestore",
      key: String? = nil
    ) -> Frame {
      headers(
        stream,
        [
          (":method", "POST"), (":scheme", "http"), (":path", "/\(service)/\(method)"),
          (":authority", "localhost"), ("content-type", "application/grpc"), ("te", "trailers"),
        ] + (key.map { [("authorization", "Bearer \($0)")] } ?? []), ends: false)
    }

    static func data(_ stream: UInt32, _ payload: [UInt8], ends: Bool = true) -> Frame {
      Frame(kind: .data, flags: ends ? endStream : 0, stream: stream, payload: payload)
    }

    var bytes: [UInt8] {
      let count = payload.count
      return [
        UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), kind?.rawValue ?? 255,
      ]
        + [flags]
        + (0..<4).map { UInt8(truncatingIfNeeded: stream >> (24 - 8 * $0)) } + payload
    }

    /// The frames of what a server has sent; the last may be cut.
    static func all(_ bytes: [UInt8]) -> [Frame] {
      var frames: [Frame] = []
      var rest = bytes[...]
      while rest.count >= 9 {
        let head = Array(rest.prefix(9))
        let count = Int(head[0]) << 16 + Int(head[1]) << 8 + Int(head[2])
        rest = rest.dropFirst(9)
        frames.append(
          Frame(
            kind: Kind(rawValue: head[3]), flags: head[4],
            stream: head[5...].reduce(0) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF,
            payload: Array(rest.prefix(count))))
        rest = rest.dropFirst(count)
      }
      return frames
    }
  }

  extension [Frame] {
    /// Whether each of these streams has ended or was reset.
    func haveEnded(_ streams: UInt32...) -> Bool {
      streams.allSatisfy { stream in
        contains { $0.stream == stream && ($0.ends || $0.kind == .reset) }
      }
    }

    /// The number of streams that were reset with this code.
    func resets(_ code: UInt8) -> Int { count { $0.errorCode == code } }

    /// Whether the server has read all that was sent before a ping.
    var haveAcknowledgedPing: Bool { contains { $0.kind == .ping && $0.flags == 1 } }
  }

  extension RawConnection {
    /// Sends frames after the preface. The server's settings are acknowledged: before that, a client has a hundred
    /// streams at most.
    func begin(_ frames: [Frame]) {
      send([
        Frame.preface, Frame(kind: .settings, flags: 1, stream: 0).bytes, frames.flatMap(\.bytes),
      ])
    }

    mutating func frames(until isEnough: ([Frame]) -> Bool) async throws -> [Frame] {
      Frame.all(try await receive { isEnough(Frame.all($0)) })
    }

    /// Sends frames after the preface on a connection of their own, and returns those that come until they are enough
    /// or the server closes the connection.
    static func send(
      _ frames: [Frame], until isEnough: ([Frame]) -> Bool, port: Int
    ) async throws -> [Frame] {
      try await open(port: port) { connection in
        connection.begin(frames)
        return try await connection.frames(until: isEnough)
      }
    }
  }
#endif
