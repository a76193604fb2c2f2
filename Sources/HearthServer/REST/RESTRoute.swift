#if Server
  import Foundation
  import HearthEngine
  import NIOHTTP1

  /// The call that a method and a path name.
  ///
  ///     GET    /v1/projects/p/databases/d/documents/books/dune     get
  ///     GET    /v1/projects/p/databases/d/documents/books          list
  ///     POST   /v1/projects/p/databases/d/documents/books          create
  ///     PATCH  /v1/projects/p/databases/d/documents/books/dune     update
  ///     DELETE /v1/projects/p/databases/d/documents/books/dune     delete
  ///     POST   /v1/projects/p/databases/d/documents:runQuery       a verb
  ///
  /// The names are as the client wrote them, without escapes; the call checks them.
  enum RESTRoute: Equatable {
    case get(String)
    case list(parent: String, collection: String)
    case create(parent: String, collection: String)
    case update(String)
    case delete(String)
    case verb(Verb, String)
    /// Outside the protocol.
    case ready
    case health
    case metrics
    case clear(database: String)
    case export(project: String)
    case load(project: String)
    case shutDown
    /// The browsers' form of streams.
    case webChannel

    enum Verb: String {
      case batchGet, beginTransaction, commit, rollback, batchWrite, runQuery, runAggregationQuery
      case partitionQuery, listCollectionIds, executePipeline

      /// Whether the name before the verb is of a database's root only.
      var isOfDatabase: Bool {
        switch self {
        case .batchGet, .beginTransaction, .commit, .rollback, .batchWrite, .executePipeline: true
        default: false
        }
      }
    }

    /// - Parameter path: Without the query.
    init(_ method: HTTPMethod, path: Substring) throws(Status) {
      // By bytes: a slash separates, even if a combining accent follows it.
      let raw = path.utf8.dropFirst().split(
        separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
      guard path.utf8.first == UInt8(ascii: "/"), let first = raw.first else {
        throw Self.missing(method, path)
      }
      let segments = try raw.map { segment throws(Status) in
        try Self.unescaped(Substring(segment))
      }
      switch (method, segments.count, segments[0]) {
      case (.GET, 1, ""): self = .ready
      case (.GET, 1, "health"): self = .health
      case (.GET, 1, "metrics"): self = .metrics
      case (.POST, 1, "shutdown"): self = .shutDown
      case (_, 3, "google.firestore.v1.Firestore") where segments[2] == "channel":
        self = .webChannel
      case (_, _, "emulator"): self = try Self.emulator(method, path, segments)
      case (_, 2..., "v1"):
        self = try Self.call(method, path, Array(segments.dropFirst()), last: raw.last ?? first)
      default: throw Self.missing(method, path)
      }
    }

    private static func call(
      _ method: HTTPMethod, _ path: Substring, _ segments: [String], last: Substring.UTF8View
    ) throws(Status) -> RESTRoute {
      if method == .POST, let colon = last.lastIndex(of: UInt8(ascii: ":")),
        let verb = Verb(rawValue: String(Substring(last[last.index(after: colon)...])))
      {
        let id = try unescaped(Substring(last[..<colon]))
        let name = (segments.dropLast() + [id]).joined(separator: "/")
        guard verb.isOfDatabase else { return .verb(verb, name) }
        guard segments.count == 5, id == "documents" else { throw missing(method, path) }
        return .verb(verb, segments[..<4].joined(separator: "/"))
      }
      // projects, p, databases, d, documents, and at least a collection.
      guard segments.count >= 6, segments[4] == "documents" else { throw missing(method, path) }
      let name = segments.joined(separator: "/")
      let parent = segments.dropLast().joined(separator: "/")
      switch (method, segments.count % 2 == 1) {
      case (.GET, true): return .get(name)
      case (.PATCH, true): return .update(name)
      case (.DELETE, true): return .delete(name)
      case (.GET, false): return .list(parent: parent, collection: segments.last ?? "")
      case (.POST, false): return .create(parent: parent, collection: segments.last ?? "")
      default: throw missing(method, path)
      }
    }

    private static func emulator(
      _ method: HTTPMethod, _ path: Substring, _ segments: [String]
    ) throws(Status) -> RESTRoute {
      guard segments.count >= 4, segments[1] == "v1", segments[2] == "projects" else {
        throw missing(method, path)
      }
      switch (method, segments.count) {
      case (.DELETE, 7) where segments[6] == "documents":
        return .clear(database: segments[2..<6].joined(separator: "/"))
      case (.POST, 4) where segments[3].hasSuffix(":export"):
        return .export(project: String(segments[3].dropLast(7)))
      case (.POST, 4) where segments[3].hasSuffix(":import"):
        return .load(project: String(segments[3].dropLast(7)))
      default: throw missing(method, path)
      }
    }

    private static func missing(_ method: HTTPMethod, _ path: Substring) -> Status {
      Status(.notFound, "There is no \(method.rawValue) \(path).")
    }

    /// Resolves `%28` and its like. A slash within an id is refused, however it is written.
    private static func unescaped(_ text: Substring) throws(Status) -> String {
      guard let plain = text.removingPercentEncoding else {
        throw .invalidArgument("The path is not UTF-8, or has an incomplete escape.")
      }
      guard !plain.utf8.contains(UInt8(ascii: "/")) else {
        throw .invalidArgument("An id has no slash, also not as %2F.")
      }
      return plain
    }
  }
#endif
