#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// Lists of documents and collections, in pages.
  extension FirestoreRPCs {
    private static let defaultPageSize = 300
    /// Bytes of a page, which is one message, of at least one document.
    private static let pageBytes = 1 << 20

    /// Documents that are read first, because each may have 1 MiB.
    private static let firstCount = 4

    /// A page with nil for documents that do not exist, and whether it has all that were found.
    private typealias Page = (documents: [StoredDocument?], isLast: Bool)

    /// The first of these documents, as many as a page may have.
    private static func page(_ found: [StoredDocument?], _ size: Int) -> Page {
      var bytes = 0
      let page = found.prefix(size).prefix { document in
        defer { bytes += answerBytes(document) }
        return bytes < pageBytes
      }
      return (Array(page), page.count == found.count)
    }

    /// Reads a page, with few documents first: more if these are small.
    ///
    /// - Parameter read: Reads a page of at most so many documents, and whether there are more.
    private static func page(
      _ size: Int, _ read: (Int) async throws -> Page
    ) async throws -> Page {
      var count = min(size, firstCount)
      while true {
        let page = try await read(count)
        if page.isLast || page.documents.count < count || count == size { return page }
        let average = max(1, bytes(page) / page.documents.count)
        count = min(size, max(2 * count, min(16 * count, pageBytes / average + 1)))
      }
    }

    @Sendable private static func bytes(_ page: Page) -> Int {
      page.documents.reduce(0) { $0 + answerBytes($1) }
    }

    private static func answerBytes(_ document: StoredDocument?) -> Int {
      document?.answerBytes ?? StoredDocument.headBytes
    }

    /// Nil if the client leaves it to the server.
    func pageSize(_ size: Int32) throws(Status) -> Int? {
      guard size >= 0 else { throw .invalidArgument("page_size must not be negative.") }
      return size == 0 ? nil : Int(size)
    }

    func listDocuments(
      request: ProtoListDocumentsRequest, context: ServerContext
    ) async throws -> ProtoListDocumentsResponse {
      let (name, parent) = try DatabaseName.parse(document: request.parent, allowsRoot: true)
      return try await with(name) { database in
        let consistency = try database.consistency(of: request, context)
        guard !request.showMissing || request.orderBy.isEmpty else {
          throw Status.invalidArgument("show_missing cannot be combined with order_by.")
        }
        let size = try pageSize(request.pageSize) ?? Self.defaultPageSize
        let start = try PageToken.decode(request.pageToken)
        let mask = try name.projection(request.hasMask ? request.mask : nil)
        if request.showMissing {
          return try await list(
            parent.appending(request.collectionID), after: start, size, mask, consistency, database,
            name, context.answerRoom)
        }
        var query =
          request.collectionID.isEmpty
          ? StructuredQuery(.subtree(below: parent))
          : StructuredQuery(.collection(parent.appending(request.collectionID)))
        query.orders = try Self.orders(request.orderBy)
        query.orders = query.effectiveOrders
        if let start {
          query.start = .init(values: try name.values(start), isBefore: false)
        }
        query.limit = size + 1
        try query.check()
        try await database.checkIndexes(query)
        let room = context.answerRoom
        let (page, isLast) = try await Self.page(size) { count in
          query.limit = count + 1
          return try await database.read(
            consistency, in: room, .results(EffectiveQuery(query)), bytes: Self.bytes
          ) { Self.page(try $0.results, count) }
        }
        var response = ProtoListDocumentsResponse()
        for case let document? in page {
          response.documents.append(try name.proto(mask?.applied(to: document) ?? document))
        }
        if !isLast, let last = try page.last??.values(of: query.orders) {
          response.nextPageToken = try PageToken.encode(last.map { name.proto($0) })
        }
        return response
      }
    }

    /// A page of a collection's documents and of those that only have documents below them.
    private func list(
      _ collection: ResourcePath, after start: [ProtoValue]?, _ size: Int, _ mask: Projection?,
      _ consistency: ServedDatabase.Consistency, _ database: ServedDatabase, _ name: DatabaseName,
      _ room: AnswerRoom
    ) async throws -> ProtoListDocumentsResponse {
      try collection.checkNames(forWriting: false)
      guard collection.isCollection else {
        throw Status.invalidArgument("show_missing requires a collection id.")
      }
      var paths = try await database.paths(
        .documentPaths(in: collection), below: collection, consistency)
      if let start {
        guard case .reference(let last)? = try name.values(start).first else {
          throw Status.invalidArgument("The page token is invalid.")
        }
        paths = Array(paths.drop { ResourcePath.compare($0, last) <= 0 })
      }
      let found = try await Self.page(min(size, paths.count)) { count in
        try await database.read(
          consistency, in: room, .documents(at: Array(paths.prefix(count + 1))), bytes: Self.bytes
        ) { Self.page(try $0.documents, count) }
      }.documents
      var response = ProtoListDocumentsResponse()
      for (path, document) in zip(paths, found) {
        let proto =
          try document.map { try name.proto(mask?.applied(to: $0) ?? $0) }
          ?? .with { $0.name = name.name(of: path) }
        response.documents.append(proto)
      }
      if paths.count > found.count, let last = paths.prefix(found.count).last {
        response.nextPageToken = try PageToken.encode([name.proto(.reference(last))])
      }
      return response
    }

    /// Parses `a desc, b`.
    private static func orders(_ text: String) throws(Status) -> [StructuredQuery.Order] {
      if text.isEmpty { return [] }
      return try split(text, at: ",").map { part throws(Status) in
        let words = split(part, at: " ").filter { !$0.isEmpty }
        let direction = words.dropFirst().first?.lowercased() ?? "asc"
        guard let field = words.first, words.count <= 2, ["asc", "desc"].contains(direction) else {
          throw .invalidArgument("Invalid order_by: \(text)")
        }
        return .init(
          field: try FieldSegments(wireText: field), isDescending: direction == "desc")
      }
    }

    /// Splits outside of names between backquotes, in which a backslash escapes.
    private static func split(_ text: String, at separator: Unicode.Scalar) -> [String] {
      var parts = [""]
      var (isQuoted, isEscaped) = (false, false)
      for scalar in text.unicodeScalars {
        if scalar == separator, !isQuoted {
          parts.append("")
          continue
        }
        if scalar == "`", !isEscaped { isQuoted.toggle() }
        isEscaped = isQuoted && scalar == "\\" && !isEscaped
        parts[parts.count - 1].unicodeScalars.append(scalar)
      }
      return parts
    }

    func listCollectionIds(
      request: ProtoListCollectionIdsRequest, context: ServerContext
    ) async throws -> ProtoListCollectionIdsResponse {
      let (name, parent) = try DatabaseName.parse(document: request.parent, allowsRoot: true)
      return try await with(name) { database in
        let consistency = try database.consistency(
          at: request.consistencySelector.map { _ in request.readTime })
        let size = try pageSize(request.pageSize) ?? Self.defaultPageSize
        try parent.checkNames(forWriting: false)
        var collections = try await database.paths(
          .collections(below: parent), below: parent, consistency)
        if let start = try PageToken.decode(request.pageToken) {
          guard case .string(let last)? = try name.values(start).first else {
            throw Status.invalidArgument("The page token is invalid.")
          }
          let position = parent.appending(last)
          collections = Array(collections.drop { ResourcePath.compare($0, position) <= 0 })
        }
        var response = ProtoListCollectionIdsResponse()
        response.collectionIds = collections.prefix(size).map(\.id)
        if collections.count > size, let last = response.collectionIds.last {
          response.nextPageToken = try PageToken.encode([name.proto(.string(last))])
        }
        return response
      }
    }
  }

  extension ServedDatabase {
    /// The paths right below a path, which a request lists in the newest state. The seam lists only that: those of
    /// other states, and of a transaction, are found by their documents.
    fileprivate func paths(
      _ list: ReadRequest, below path: ResourcePath, _ consistency: Consistency
    ) async throws -> [ResourcePath] {
      if case .newest = consistency { return try await read(.newest, list) { try $0.paths }.0 }
      let count = path.segments.count + 1
      var query = StructuredQuery(.subtree(below: path.isCollection ? path.parent : path))
      query.projection = [.documentID]
      var prefixes: [ResourcePath] = []
      for document in try await results(of: query, consistency)
      where document.path.hasPrefix(path) && document.path.segments.count >= count {
        let prefix = ResourcePath(Array(document.path.segments.prefix(count)))
        // Documents are in the order of their names.
        if prefixes.last != prefix { prefixes.append(prefix) }
      }
      return prefixes
    }
  }
#endif
