#if Server
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// Writes the answers of a streaming call as the elements of one JSON array, while they come.
  ///
  ///     [{…}            an error before the first answer: [{"error": …}], with its status
  ///     ,{…}            an error after it: ,{"error": …}
  ///     ]
  final class JSONArrayWriter<Element: SwiftProtobuf.Message>: RPCWriterProtocol {
    let metadata = Guarded(Metadata())
    private let response: HTTPResponseWriter
    private let hasBegun = Guarded(false)

    init(_ response: HTTPResponseWriter) { self.response = response }

    func write(_ element: Element) async throws { try await write(contentsOf: [element]) }

    func write(contentsOf elements: some Sequence<Element>) async throws {
      var bytes: [UInt8] = []
      for element in elements {
        let json = try HTTPResponseWriter.json(element)
        bytes += try await begin() ? "\n,".utf8 : "[".utf8
        bytes += json
        if bytes.count >= StreamGuard.partBytes {
          try await response.write(bytes)
          bytes.removeAll(keepingCapacity: true)
        }
      }
      if !bytes.isEmpty { try await response.write(bytes) }
    }

    /// Sends the head, once. Returns whether the answer had begun before.
    private func begin() async throws -> Bool {
      let had = hasBegun.exchange(true)
      if !had { try await response.begin(metadata.withLock { $0 }) }
      return had
    }

    func end() async throws {
      let had = try await begin()
      try await response.write(Array((had ? "]\n" : "[]\n").utf8))
      try await response.end()
    }

    func end(_ error: RPCError) async throws {
      guard hasBegun.withLock({ $0 }) else {
        return try await response.fail(error, isStream: true)
      }
      try await response.write(
        Array("\n,".utf8) + HTTPResponseWriter.body(of: error) + Array("]\n".utf8))
      try await response.end()
    }
  }
#endif
