#if Server
  import Foundation
  import NIOCore
  import NIOPosix

  /// The connection of a client that sends bytes as they are.
  struct RawConnection {
    private let channel: any Channel
    private var parts: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    private var received: [UInt8] = []

    /// Runs a closure with a connection, and closes it. It is closed after this time in any case: longer than the
    /// busiest machine needs.
    static func open<Result>(
      port: Int, for time: Duration = .seconds(300),
      _ body: (inout RawConnection) async throws -> Result
    ) async throws -> Result {
      let connection = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connect(host: "127.0.0.1", port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
          }
        }
      // On the event loop, which is in time though the threads for tests are busy.
      let channel = connection.channel
      let closing = channel.eventLoop.scheduleTask(in: TimeAmount(time)) {
        channel.close(promise: nil)
      }
      defer { closing.cancel() }
      return try await connection.executeThenClose { inbound, _ in
        var connection = RawConnection(channel: channel, parts: inbound.makeAsyncIterator())
        return try await body(&connection)
      }
    }

    /// Sends the parts, with a pause between two.
    func send(_ parts: [[UInt8]], pause: Duration = .milliseconds(20)) {
      for (index, part) in parts.enumerated() {
        channel.eventLoop.scheduleTask(in: TimeAmount(pause * index)) { [channel] in
          channel.writeAndFlush(ByteBuffer(bytes: part), promise: nil)
        }
      }
    }

    /// All that the server has sent, once it is enough or the connection has ended.
    mutating func receive(until isEnough: ([UInt8]) -> Bool) async throws -> [UInt8] {
      do {
        while !isEnough(received), let part = try await parts.next() {
          received += part.readableBytesView
        }
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        // Reset by the server, which is an end too.
      }
      return received
    }

    /// Sends the parts on a connection of their own, and returns all that the server sends until it closes the
    /// connection, until what has come is enough, or until this time has passed.
    static func send(
      _ parts: [[UInt8]], pause: Duration = .milliseconds(20), for time: Duration = .seconds(300),
      until isEnough: ([UInt8]) -> Bool = { _ in false }, port: Int
    ) async throws -> [UInt8] {
      try await open(port: port, for: time) { connection in
        connection.send(parts, pause: pause)
        return try await connection.receive(until: isEnough)
      }
    }

    static func send(_ text: String, port: Int) async throws -> String {
      String(decoding: try await send([Array(text.utf8)], port: port), as: UTF8.self)
    }
  }

  /// An answer over HTTP/1.
  struct RESTAnswer {
    var status: Int
    var headers: [String: String]
    var body: String

    /// The body as an object; an array of one is its element.
    var json: [String: Any] { array.first ?? [:] }

    /// The body as an array of objects.
    var array: [[String: Any]] {
      let any = try? JSONSerialization.jsonObject(with: Data(body.utf8))
      return any as? [[String: Any]] ?? (any as? [String: Any]).map { [$0] } ?? []
    }

    var error: String? {
      guard let error = json["error"] as? [String: Any] else { return nil }
      return "\(error["status"] ?? "")"
    }

    init?(_ text: String) {
      guard let end = text.firstRange(of: "\r\n\r\n") else { return nil }
      let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
      let words = lines[0].split(separator: " ")
      guard words.count >= 2, let status = Int(words[1]) else { return nil }
      self.status = status
      headers = [:]
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
      }
      body = String(text[end.upperBound...])
      guard headers["transfer-encoding"] == "chunked" else { return }
      var rest = Array(body.utf8)[...]
      var whole: [UInt8] = []
      while let line = rest.firstIndex(of: 13),
        let count = Int(String(decoding: rest[..<line], as: UTF8.self), radix: 16), count > 0
      {
        whole += rest[(line + 2)...].prefix(count)
        rest = rest[(line + 2)...].dropFirst(count + 2)
      }
      body = String(decoding: whole, as: UTF8.self)
    }
  }

  extension TestServer {
    struct NoAnswer: Error {
      let text: String
    }

    /// A request over HTTP/1, on a connection of its own.
    func rest(
      _ method: String, _ path: String, _ body: String = "", _ headers: [String: String] = [:]
    ) async throws -> RESTAnswer {
      var text = "\(method) \(path) HTTP/1.1\r\nConnection: close\r\n"
      if headers["Host"] == nil { text += "Host: 127.0.0.1:\(port)\r\n" }
      for (name, value) in headers { text += "\(name): \(value)\r\n" }
      text += "Content-Length: \(body.utf8.count)\r\n\r\n" + body
      // The server closes the connection.
      let received = String(
        decoding: try await RawConnection.send([Array(text.utf8)], port: port),
        as: UTF8.self)
      guard let answer = RESTAnswer(received) else { throw NoAnswer(text: received) }
      return answer
    }
  }
#endif
