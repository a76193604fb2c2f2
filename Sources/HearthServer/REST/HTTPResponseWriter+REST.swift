#if Server
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// Answers of the calls, and of the server itself.
  extension HTTPResponseWriter {
    func send(body: [UInt8], _ metadata: Metadata = [:]) async throws {
      try await send(200, Self.headers(metadata), body: body)
    }

    func send(text: String, type: String = "text/plain; charset=UTF-8") async throws {
      try await send(200, body: Array(text.utf8), type: type)
    }

    func send(isServing: Bool) async throws {
      let body = #"{"status":"\#(isServing ? "SERVING" : "NOT_SERVING")"}"# + "\n"
      try await send(isServing ? 200 : 503, body: Array(body.utf8))
    }

    func begin(_ metadata: Metadata) async throws {
      try await begin(Self.headers(metadata))
    }

    /// - Parameter isStream: The error is the one element of an array, as Google answers.
    func fail(_ error: RPCError, isStream: Bool = false) async throws {
      let body = Self.body(of: error)
      try await send(
        error.code.httpStatus, Self.headers(error.metadata),
        body: isStream ? Array("[".utf8) + body + Array("]".utf8) : body)
    }

    /// The error in Google's form.
    static func body(of error: RPCError) -> [UInt8] {
      errorBody(code: error.code.httpStatus, error.message, status: error.code.googleName)
    }

    static func json(_ message: some SwiftProtobuf.Message) throws -> [UInt8] {
      do {
        return try message.jsonUTF8Bytes()
      } catch {
        throw RPCError(code: .dataLoss, message: "The answer has no form in JSON.", cause: error)
      }
    }

    private static func headers(_ metadata: Metadata) -> [String: String] {
      metadata.first(CallGate.header).map { [CallGate.header: $0] } ?? [:]
    }
  }

  extension RPCError.Code {
    /// As google.rpc.Code documents.
    fileprivate var httpStatus: Int {
      switch self {
      case .cancelled: 499
      case .invalidArgument, .failedPrecondition, .outOfRange: 400
      case .deadlineExceeded: 504
      case .notFound: 404
      case .alreadyExists, .aborted: 409
      case .permissionDenied: 403
      case .unauthenticated: 401
      case .resourceExhausted: 429
      case .unimplemented: 501
      case .unavailable: 503
      default: 500
      }
    }

    /// As google.rpc.Code spells it: `NOT_FOUND`.
    fileprivate var googleName: String {
      "\(Status.Code(rawValue: rawValue) ?? .unknown)".reduce(into: "") { name, letter in
        name += letter.isUppercase ? "_\(letter)" : letter.uppercased()
      }
    }
  }
#endif
