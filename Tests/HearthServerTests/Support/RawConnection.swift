#if Server
  import Foundation
  import NIOCore
  import NIOPosix

  /// A client that sends bytes as they are.
  enum RawConnection {
    /// Sends the parts, with a pause between two, and returns all that the server sends until it
    /// closes the connection, until what has come is enough, or until this time has passed.
    static func send(
      _ parts: [[UInt8]], pause: Duration = .milliseconds(20), for time: Duration = .seconds(20),
      until isEnough: ([UInt8]) -> Bool = { _ in false }, port: Int
    ) async throws -> [UInt8] {
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
      for (index, part) in parts.enumerated() {
        channel.eventLoop.scheduleTask(in: TimeAmount(pause * index)) {
          channel.writeAndFlush(ByteBuffer(bytes: part), promise: nil)
        }
      }
      var received: [UInt8] = []
      do {
        try await connection.executeThenClose { inbound, _ in
          for try await part in inbound {
            received += part.readableBytesView
            if isEnough(received) { return }
          }
        }
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        // Reset by the server, which is an end too.
      }
      return received
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
        decoding: try await RawConnection.send([Array(text.utf8)], for: .seconds(300), port: port),
        as: UTF8.self)
      guard let answer = RESTAnswer(received) else { throw NoAnswer(text: received) }
      return answer
    }
  }
#endif
