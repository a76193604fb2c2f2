import Foundation

/// A client for server-sent events, over a socket of its own.
final class EventClient: Sendable {
  private let file: Int32
  private let events: AsyncStream<String>

  /// Connects to a port of this machine, and asks for `path`.
  init(port: Int, path: String, lastEventID: String? = nil) throws {
    let file = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let connected = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(file, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw POSIXError(.ECONNREFUSED) }
    let last = lastEventID.map { "Last-Event-ID: \($0)\r\n" } ?? ""
    let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(last)\r\n".utf8)
    guard write(file, request, request.count) == request.count else { throw POSIXError(.EPIPE) }
    self.file = file
    let (events, input) = AsyncStream.makeStream(of: String.self)
    self.events = events
    Thread.detachNewThread {
      var text = ""
      var bytes = [UInt8](repeating: 0, count: 4096)
      while case let count = read(file, &bytes, bytes.count), count > 0 {
        text += String(decoding: bytes[..<count], as: UTF8.self)
        while let end = text.range(of: "\n\n") {
          input.yield(String(text[..<end.lowerBound]))
          text = String(text[end.upperBound...])
        }
      }
      input.finish()
    }
  }

  deinit { close(file) }

  /// The next event, with what precedes it in the response. Throws if the server has closed the connection.
  func next() async throws -> String {
    for await event in events { return event }
    throw POSIXError(.ECONNRESET)
  }
}
