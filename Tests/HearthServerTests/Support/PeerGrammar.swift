#if Server
  import Foundation
  import TestSupport

  @testable import HearthServer

  /// Writes what a peer could send, by chance: connections whose parts are mostly as they should be,
  /// so that the wrong ones are read deep in the server.
  ///
  ///     connection ─┬─ preface, SETTINGS, then frames of HTTP/2
  ///                 │    HEADERS (HPACK: every representation, CONTINUATION, padding, priority)
  ///                 │    DATA (messages of gRPC, whole, cut, too long) and every other kind
  ///                 ├─ requests of HTTP/1: REST, upgrades to HTTP/2 and WebSocket, pipelined
  ///                 └─ one of these, damaged
  struct PeerGrammar {
    /// What a client sends on one connection.
    struct Sent {
      var bytes: [UInt8]
      var requests: Int
    }

    /// The payload of the PING that is sent last: its answer shows that all before it was read.
    static let lastPing = Array("the last".utf8)

    private var chance: SeededGenerator
    /// This connection may have what ends it at once, so that the rest is not read.
    private var isRough = false
    private let tokens: [String]

    /// - Parameter tokens: Valid ones, which are also sent damaged.
    init(seed: UInt64, tokens: [String]) {
      chance = SeededGenerator(seed: seed)
      self.tokens = tokens
    }

    // MARK: Chance

    private mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &chance) }
    private mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
    /// Whether to do what mostly ends the connection.
    private mutating func roughly(_ count: Int) -> Bool { isRough && oneIn(count) }
    private mutating func pick<Element>(_ elements: [Element]) -> Element {
      elements[below(elements.count)]
    }
    private mutating func noise(_ limit: Int) -> [UInt8] {
      (0..<below(limit + 1)).map { _ in UInt8.random(in: 0...255, using: &chance) }
    }

    private mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
      var bytes = bytes
      for _ in 0..<pick([1, 1, 1, 2, 5]) where !bytes.isEmpty {
        let place = below(bytes.count)
        switch below(5) {
        case 0: bytes[place] ^= 1 << UInt8(below(8))
        case 1: bytes[place] = pick([0, 1, 0x7F, 0x80, 0xFF])
        case 2: bytes.insert(contentsOf: noise(8), at: place)
        case 3: bytes.removeSubrange(place..<min(bytes.count, place + 1 + below(8)))
        default:
          bytes.insert(
            contentsOf: bytes[place..<min(bytes.count, place + 1 + below(64))], at: place)
        }
      }
      return bytes
    }

    // MARK: Connections

    mutating func connection() -> Sent {
      isRough = oneIn(3)
      var sent = oneIn(4) ? http1() : http2()
      if roughly(3) { sent.bytes = damaged(sent.bytes) }
      return sent
    }

    private mutating func http2() -> Sent {
      var bytes = ProtocolChooser.preface + settings()
      // Before it is acknowledged, a client may have a hundred streams.
      bytes += Frame(kind: .settings, flags: 1, stream: 0).bytes
      let count = 1 + below(60)
      for number in 0..<count {
        let stream = UInt32(2 * number + 1)
        bytes += call(on: stream)
        if oneIn(12) || roughly(4) { bytes += other(near: stream) }
      }
      bytes += Frame(kind: .ping, stream: 0, payload: Self.lastPing).bytes
      return Sent(bytes: bytes, requests: count)
    }

    // MARK: Headers

    private typealias Field = (name: String, value: String)

    private static let methods = [
      "GetDocument", "ListDocuments", "BatchGetDocuments", "BeginTransaction", "Commit", "Rollback",
      "RunQuery", "RunAggregationQuery", "PartitionQuery", "Listen", "Write", "ListCollectionIds",
      "BatchWrite", "ExecutePipeline", "CreateDocument", "UpdateDocument", "DeleteDocument",
    ]

    private static let documents = "/v1/\(TestServer.root)"

    private mutating func path(isGRPC: Bool) -> String {
      let path = anyPath(isGRPC: isGRPC)
      if isRough { return path }
      let visible = path.unicodeScalars.filter { $0.value > 0x20 && $0.value != 0x7F }
      return visible.isEmpty ? "/" : String(visible.map(Character.init))
    }

    private mutating func anyPath(isGRPC: Bool) -> String {
      if oneIn(20) {
        return pick([
          "", "/", "//", "/a", "a", "*", "/a/b/c", "/\u{FF}/\u{1F525}", "/%", "/%zz", "/v1/", "?",
          "/google.firestore.v1.Firestore/", "http://x/y", String(repeating: "/a", count: 500),
        ])
      }
      if isGRPC {
        return oneIn(8)
          ? "/grpc.health.v1.Health/" + pick(["Check", "Watch", "None"])
          : "/google.firestore.v1.Firestore/" + pick(Self.methods)
      }
      return pick([
        "/health", "/metrics", Self.documents + "/a/b", Self.documents + "/a",
        Self.documents + ":runQuery", Self.documents + ":commit", Self.documents + ":batchGet",
        Self.documents + "/a?documentId=%41&pageSize=\(text())", Self.documents + "/a/b?\(text())",
        "/google.firestore.v1.Firestore/Listen/channel?VER=8&RID=\(below(9))&\(text())",
        "/emulator/v1/projects/\(text())/databases/x/documents", "/\(text())",
      ])
    }

    /// A text for a place where a parser reads a number, a name, or base64.
    private mutating func text() -> String {
      switch below(9) {
      case 0: return timeout()
      case 1: return number()
      case 2: return pick(["", " ", ",", "=", "-", "%00", "a,b", "\t", "\u{0}", "identity"])
      case 3: return String(repeating: pick(["a", "=", "A", "1", "\u{E9}"]), count: below(300))
      case 4: return Data(noise(40)).base64EncodedString()
      case 5: return String(Data(noise(40)).base64EncodedString().dropLast(below(4)))
      case 6: return String(decoding: noise(20), as: UTF8.self)
      case 7: return token()
      default: return "\(UInt64.random(in: .min ... .max, using: &chance))"
      }
    }

    private mutating func number() -> String {
      pick([
        "0", "-0", "-1", "+1", "1", "00", "007", "99999999", "100000000", "2147483647",
        "2147483648",
        "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "1e9", "0x10",
        "18446744073709551616", "1.5", "\u{661}", "1 ", " 1", "NaN", "inf",
      ])
    }

    private mutating func timeout() -> String {
      let amount = oneIn(3) ? number() : "\(below(100_000_000))"
      return amount
        + pick(["H", "M", "S", "m", "u", "n", "n", "u", "", "s", "h", "SS", "\u{C9}", " "])
    }

    /// A bearer token: a key, or a JSON Web Token whose parts are as strange as JSON allows.
    private mutating func token() -> String {
      if oneIn(4) { return pick(tokens + [""]) }
      if oneIn(6) {
        return String(decoding: damaged(Array(pick(tokens + ["x"]).utf8)), as: UTF8.self)
      }
      func base64(_ text: String) -> String {
        Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
          .replacing("=", with: "")
      }
      let header = pick([
        #"{"alg":"RS256","kid":"k"}"#, #"{"alg":\#(json()),"kid":\#(json())}"#,
        #"{"alg":"RS256","x":\#(json())}"#, json(), "",
      ])
      let claims =
        #"{"iss":\#(json()),"sub":\#(json()),"iat":\#(json()),"exp":\#(json()),"aud":\#(json())}"#
      return base64(header) + "." + base64(oneIn(8) ? json() : claims)
        + pick([".", "", ".AAAA", "..", ".%"])
    }

    private mutating func json() -> String {
      pick([
        "null", "true", "1", "-1", "1e300", "1e999", "-1e300", "0.5", "9223372036854775808", "\"\"",
        #""a""#, "[]", "[[]]", #"["a"]"#, "{}", #"{"a":1}"#, "[1e300]", "[null]", "nul",
        String(repeating: "[", count: 400), #""\ud800""#, "1e18", #""RS256""#, "[1]",
      ])
    }

    private static let refused: Set<String> = [
      "connection", "transfer-encoding", "upgrade", "keep-alive", "te", "content-length", "X-Upper",
      "",
      " ", "a b", "x-\u{E9}",
    ]

    private mutating func fields() -> [Field] {
      let isGRPC = !oneIn(4)
      var fields: [Field] = [
        (":method", isGRPC ? "POST" : pick(["GET", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD"])),
        (":scheme", "http"), (":path", path(isGRPC: isGRPC)), (":authority", "localhost"),
      ]
      if !isRough, oneIn(12) { fields.remove(at: 3) }
      if roughly(12) {
        let value = text()
        switch below(5) {
        case 0: fields.remove(at: below(fields.count))
        case 1: fields.append(pick(fields))
        case 2: fields[below(fields.count)].value = value
        case 3: fields.append((pick([":status", ":protocol", ":", ":x"]), value))
        default: fields.shuffle(using: &chance)
        }
      }
      if isGRPC {
        fields.append(
          ("content-type", oneIn(8) ? "application/grpc" + text() : "application/grpc"))
        fields.append(("te", roughly(20) ? text() : "trailers"))
      }
      for _ in 0..<below(5) {
        let name = pick([
          "grpc-timeout", "grpc-timeout", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding",
          "content-length", "authorization", "x-request-id", UncheckedCalls.header, "a-bin",
          "grpc-trace-bin", "grpc-status-details-bin", "-bin", "grpc-previous-rpc-attempts",
          "grpc-retry-pushback-ms", "grpc-status", "grpc-message", "user-agent", "cookie", "host",
          "expect", "origin", "connection", "transfer-encoding", "upgrade", "keep-alive", "range",
          "sec-fetch-site", "access-control-request-method", "content-encoding", "content-type",
          "te", "x-\u{E9}", "X-Upper", "", " ", "a b", "x-http-method-override", "accept-encoding",
        ])
        var value = text()
        switch name {
        case "grpc-timeout": value = timeout()
        case "grpc-encoding", "grpc-accept-encoding", "content-encoding":
          if !oneIn(3) { value = pick(["identity", "gzip", "deflate", "snappy", "gzip,identity"]) }
        case "authorization":
          value = pick(["Bearer ", "Bearer ", "bearer ", "Basic ", ""]) + token()
        case "content-length": value = number()
        case "expect": value = "100-continue"
        default: break
        }
        if !isRough {
          // NIO refuses these before anything of the server reads them, and gRPC then ends the
          // connection.
          if Self.refused.contains(name) { continue }
          value = String(value.unicodeScalars.filter { $0.value >= 0x20 }.map(Character.init))
        }
        fields.insert((name, value), at: roughly(20) ? below(fields.count) : fields.count)
      }
      return fields
    }

    // MARK: HPACK

    private mutating func integer(_ value: Int, prefix: Int, _ begin: UInt8) -> [UInt8] {
      let limit = 1 << prefix - 1
      if value < limit { return [begin | UInt8(value)] }
      var bytes = [begin | UInt8(limit)]
      var rest = value - limit
      while rest >= 128 {
        bytes.append(UInt8(rest % 128 + 128))
        rest /= 128
      }
      return bytes + [UInt8(rest)]
    }

    private mutating func string(_ text: String) -> [UInt8] {
      if roughly(200) {
        // In Huffman's code, of anything; or with a wrong length.
        let content = noise(20)
        return integer(oneIn(4) ? below(1 << 20) : content.count, prefix: 7, 0x80) + content
      }
      return integer(text.utf8.count, prefix: 7, 0) + text.utf8
    }

    private mutating func block(_ fields: [Field]) -> [UInt8] {
      var bytes: [UInt8] = []
      if oneIn(20) { bytes += integer(pick([0, 1, 100, 4096]), prefix: 5, 0x20) }
      if roughly(100) { bytes += integer(pick([4097, .max]), prefix: 5, 0x20) }
      for field in fields {
        let mayVary = isRough || !field.name.hasPrefix(":")
        if mayVary, oneIn(60) {
          // An entry of the tables, which may not be there.
          let entries = isRough ? [0, 62, 63, 70, .max] : [16, 19, 32, 58, 61]
          bytes += integer(pick(entries), prefix: 7, 0x80)
          continue
        }
        let (prefix, begin): (Int, UInt8) = pick([(4, 0), (4, 0), (6, 0x40), (4, 0x10)])
        if mayVary, oneIn(60) {
          bytes += integer(pick(isRough ? [62, 63, 99] : [19, 32, 58]), prefix: prefix, begin)
        } else {
          bytes += [begin] + string(field.name.isEmpty && !isRough ? "x" : field.name)
        }
        bytes += string(field.value)
      }
      if roughly(60) { bytes += noise(6) }
      return bytes
    }

    // MARK: Frames

    private mutating func headers(_ stream: UInt32, ends: Bool) -> [UInt8] {
      var payload = block(fields())
      var flags: UInt8 = ends ? Frame.endStream : 0
      if oneIn(12) {
        flags |= 0x20
        let other = stream &+ (isRough ? UInt32(below(3)) : 2)
        payload = word(other) + [UInt8(below(256))] + payload
      }
      if oneIn(12) {
        flags |= 8
        let padding = below(20)
        payload =
          [UInt8(roughly(8) ? 255 : padding)] + payload + Array(repeating: 0, count: padding)
      }
      guard oneIn(8) else {
        return Frame(
          kind: .headers, flags: flags | Frame.endHeaders, stream: stream, payload: payload
        )
        .bytes
      }
      var parts: [[UInt8]] = []
      while !payload.isEmpty {
        // NIO reads five parts.
        let count = parts.count == 3 && !isRough ? payload.count : 1 + below(payload.count)
        parts.append(Array(payload.prefix(count)))
        payload.removeFirst(count)
      }
      var bytes: [UInt8] = []
      for (number, part) in parts.enumerated() {
        let isLast = number == parts.count - 1 && !roughly(20)
        bytes +=
          Frame(
            kind: number == 0 ? .headers : .continuation,
            flags: (number == 0 ? flags : 0) | (isLast ? Frame.endHeaders : 0), stream: stream,
            payload: part
          ).bytes
      }
      return bytes
    }

    private mutating func word(_ value: UInt32) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32($0))) }
    }

    /// Messages of gRPC, of one call.
    private mutating func messages() -> [UInt8] {
      var bytes: [UInt8] = []
      for _ in 0..<pick([1, 1, 1, 1, 0, 2, 3]) {
        let content = oneIn(3) ? noise(40) : message()
        let length =
          oneIn(20) ? UInt32.random(in: .min ... .max, using: &chance) : UInt32(content.count)
        bytes += [oneIn(20) ? pick([1, 2, 255]) : 0] + word(length) + content
      }
      return bytes
    }

    /// Fields of Protocol Buffers: names of databases and documents, with numbers that requests have.
    private mutating func message() -> [UInt8] {
      var bytes: [UInt8] = []
      for _ in 0..<(1 + below(4)) {
        let name = pick([
          TestServer.database, TestServer.root, TestServer.root + "/a/b", TestServer.root + "/a",
          "projects//databases/", "",
        ])
        let content = oneIn(4) ? (oneIn(2) ? message() : noise(30)) : Array(name.utf8)
        let tag = UInt8(1 + below(10)) << 3
        bytes +=
          oneIn(6)
          ? [tag] + integer(below(1 << 30), prefix: 7, 0)
          : [tag | 2] + integer(content.count, prefix: 7, 0) + content
      }
      return bytes
    }

    private mutating func call(on stream: UInt32) -> [UInt8] {
      let hasBody = !oneIn(5)
      var bytes = headers(stream, ends: !hasBody)
      guard hasBody else { return bytes }
      let content = oneIn(6) ? Array(#"{"fields": {"a": {"integerValue": "1"}}}"#.utf8) : messages()
      if oneIn(8) {
        let padding = below(30)
        bytes +=
          Frame(
            kind: .data, flags: 8, stream: stream,
            payload: [UInt8(roughly(8) ? 255 : padding)] + content
              + Array(repeating: 0, count: padding)
          ).bytes
        if oneIn(2) { bytes += Frame.data(stream, []).bytes }
      } else {
        bytes += Frame.data(stream, content, ends: !oneIn(6)).bytes
      }
      // Trailers, or a second head.
      if roughly(20) { bytes += headers(stream, ends: oneIn(2)) }
      return bytes
    }

    private mutating func settings() -> [UInt8] {
      var payload: [UInt8] = []
      for _ in 0..<below(4) {
        var setting = UInt8(oneIn(10) ? below(256) : below(10))
        var value = pick(
          [
            0, 1, 2, 100, 4096, 16_384, 65_535, 1 << 24, 0x7FFF_FFFF, 0x8000_0000, .max,
          ] as [UInt32])
        if !isRough {
          // What ends no connection: flags, a window, and a size of frames.
          if setting == 8 { setting = 9 }
          if setting == 2 { value &= 1 }
          if setting == 4 { value &= 0xFFFF }
          if setting == 5 { value = 16_384 }
        }
        payload += [0, setting] + word(value)
      }
      return Frame(kind: .settings, stream: 0, payload: payload).bytes
    }

    /// A frame that is no request.
    private mutating func other(near stream: UInt32) -> [UInt8] {
      let id = isRough ? pick([0, stream, stream &- 2, stream &+ 2, 2, 0x7FFF_FFFF]) : stream
      // The first of these mostly end no connection.
      switch below(isRough ? 10 : 5) {
      case 0:
        return Frame(
          kind: .ping, flags: UInt8(below(2)), stream: 0,
          payload: isRough ? noise(8) : Array("a ping, ".utf8)
        ).bytes
      case 1: return settings()
      case 2:
        let increment = pick([1, 65_535, 0x7FFE_0000] + (isRough ? [0, .max] : []) as [UInt32])
        return Frame(kind: .window, stream: id, payload: word(increment)).bytes
      case 3: return Frame(kind: .reset, stream: id, payload: word(UInt32(below(20)))).bytes
      case 4: return Frame(kind: .priority, stream: id, payload: word(id &+ 2) + [0]).bytes
      case 5: return Frame(kind: .goAway, stream: 0, payload: word(id) + word(0) + noise(4)).bytes
      case 6: return Frame(kind: .promise, flags: 4, stream: id, payload: word(id) + noise(9)).bytes
      case 7: return Frame.data(id, noise(40), ends: oneIn(2)).bytes
      case 8:
        // ALTSVC, ORIGIN, and kinds that there are not.
        var bytes = Frame(kind: nil, flags: UInt8(below(256)), stream: id, payload: noise(12)).bytes
        bytes[3] = pick([10, 12, 11, 13, 16, 255])
        return bytes
      default:
        return Frame(
          kind: pick([.data, .headers, .settings, .ping, .window, .continuation, .reset]),
          flags: UInt8(below(256)), stream: id, payload: noise(12)
        ).bytes
      }
    }

    // MARK: HTTP/1

    private mutating func http1() -> Sent {
      let count = 1 + below(4)
      var bytes: [UInt8] = []
      for _ in 0..<count {
        let method = pick([
          "GET", "POST", "PATCH", "DELETE", "OPTIONS", "HEAD", "CONNECT", "TRACE", "PRI", "get", "",
        ])
        let version =
          oneIn(10) ? pick(["HTTP/2.0", "HTTP/1.0", "HTTP/0.9", "", text()]) : "HTTP/1.1"
        var head = "\(method) \(path(isGRPC: false)) \(version)\r\nHost: localhost\r\n"
        let body = pick(["", "{}", #"{"fields": {"a": {"integerValue": "1"}}}"#, text()])
        switch below(6) {
        case 0: head += "Transfer-Encoding: chunked\r\n"
        case 1: head += "Content-Length: \(number())\r\n"
        default: head += "Content-Length: \(body.utf8.count)\r\n"
        }
        for _ in 0..<below(4) {
          let value = text().filter { oneIn(50) || $0 != "\r\n" && $0 != "\n" && $0 != "\r" }
          head += pick([
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
              + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: \(value)\r\n",
            "Expect: 100-continue\r\n", "Authorization: Bearer \(token())\r\n",
            "Origin: \(value)\r\n",
            "Content-Type: application/grpc\r\ngrpc-timeout: \(timeout())\r\n",
            "\(value): \(value)\r\n",
            "X-Request-Id: \(value)\r\n", "Connection: \(pick(["close", "keep-alive", value]))\r\n",
            "Trailer: x\r\nTE: trailers\r\n", "Host: \(value)\r\n", " folded\r\n",
          ])
        }
        bytes += (head + "\r\n").utf8
        if head.contains("chunked") {
          bytes +=
            "\(String(body.utf8.count, radix: 16))\(oneIn(6) ? ";\(text())" : "")\r\n\(body)\r\n"
            .utf8
          bytes += (oneIn(6) ? "0\r\nX: \(text())\r\n\r\n" : "0\r\n\r\n").utf8
        } else {
          bytes += body.utf8
        }
        // After an upgrade: frames of the other protocol.
        if oneIn(8) { bytes += oneIn(2) ? [0x81, 0x85] + noise(9) : ProtocolChooser.preface }
      }
      return Sent(bytes: bytes, requests: count)
    }
  }
#endif
