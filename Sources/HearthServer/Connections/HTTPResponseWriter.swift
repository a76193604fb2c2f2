#if Server
  import Foundation
  import GRPCCore
  import NIOCore
  import NIOHTTP1

  /// Writes the answer to a request over HTTP/1. Each function returns when the client's connection
  /// has taken what was written, and throws `cancelled` when the connection has ended, or
  /// the request has an answer already.
  ///
  /// Bodies are sent in parts: the client has its time for each.
  struct HTTPResponseWriter: Sendable {
    private let connection: NIOLoopBound<HTTPConnection>
    /// The request's number in its connection, which may answer the next one already.
    private let request: Int
    private let eventLoop: any EventLoop
    /// Those that all answers to the request have.
    var headers: [String: String] = [:]

    init(
      _ connection: NIOLoopBound<HTTPConnection>, _ request: Int, _ eventLoop: any EventLoop
    ) {
      self.connection = connection
      self.request = request
      self.eventLoop = eventLoop
    }

    /// A whole answer.
    func send(
      _ status: Int, _ more: [String: String] = [:], body: [UInt8],
      type: String = Self.json
    ) async throws {
      let headers = headers.merging(more) { $1 }
      let head = Self.head(.init(statusCode: status), bytes: body.count, headers, type: type)
      guard body.count > StreamGuard.partBytes else {
        return try await onLoop { connection in
          guard connection.send(head) != nil, connection.send(body) != nil else { return nil }
          return connection.sendEnd()
        }
      }
      try await onLoop { $0.send(head) }
      try await write(body)
      try await end()
    }

    /// The begin of an answer whose length is not known.
    func begin(_ more: [String: String]) async throws {
      let head = Self.head(.ok, bytes: nil, headers.merging(more) { $1 })
      try await onLoop { $0.send(head) }
    }

    func write(_ bytes: [UInt8]) async throws {
      for start in stride(from: 0, to: bytes.count, by: StreamGuard.partBytes) {
        let part = Array(bytes[start..<min(start + StreamGuard.partBytes, bytes.count)])
        try await onLoop { $0.send(part) }
      }
    }

    func end() async throws { try await onLoop { $0.sendEnd() } }

    /// Closes the connection, unless the answer has ended.
    func abandon() {
      eventLoop.execute { own?.abandon() }
    }

    /// The connection, on its event loop, while it does not answer a later request.
    private var own: HTTPConnection? {
      connection.value.request == request ? connection.value : nil
    }

    private func onLoop(
      _ body: @escaping @Sendable (HTTPConnection) -> EventLoopFuture<Void>?
    ) async throws {
      do {
        try await eventLoop.flatSubmit {
          own.flatMap(body) ?? eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
        }.get()
      } catch {
        throw RPCError(code: .cancelled, message: "The connection has ended.", cause: error)
      }
    }

    static let json = "application/json; charset=UTF-8"

    /// - Parameter bytes: Those of the body; nil if that is not known.
    static func head(
      _ status: HTTPResponseStatus, bytes: Int?, _ more: [String: String] = [:], type: String = json
    ) -> HTTPResponseHead {
      var headers = HTTPHeaders([
        ("content-type", type), ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
      ])
      if let bytes { headers.add(name: "content-length", value: "\(bytes)") }
      for (name, value) in more.sorted(by: { $0.key < $1.key }) {
        headers.add(name: name, value: value)
      }
      return HTTPResponseHead(version: .http1_1, status: status, headers: headers)
    }

    /// An error in the form of Google's.
    static func errorBody(code: Int, _ message: String, status: String) -> [UInt8] {
      let error: [String: Any] = ["code": code, "message": message, "status": status]
      let body = try? JSONSerialization.data(
        withJSONObject: ["error": error], options: [.sortedKeys, .withoutEscapingSlashes])
      return body.map(Array.init) ?? Array(#"{"error":{}}"#.utf8)
    }
  }
#endif
