#if Postgres
  import HearthEngine

  /// A `RemoteRead` as statements, and its answer from their rows.
  struct PostgresQueries {
    private(set) var statements: [PostgresStatement]
    /// Each adds the rows of a statement to the answer; the first statement has none.
    private var readers: [Reader] = []

    private typealias Reader = (PostgresRows, inout RemoteAnswer) throws(Status) -> Void

    private static let record = """
      SELECT history, sequence, time, first_logged, trimmed_time, generation, read_time,
        is_restored, format
      FROM hearth_store
      """

    /// - Parameter locks: Takes the lock on all commits first.
    init(_ request: RemoteRead, locks: Bool = false) {
      statements = [PostgresStatement(locks ? Self.record + " FOR UPDATE" : Self.record)]
      for scope in request.scopes {
        let isPage =
          switch scope {
          case .entries(_, _, .some), .collection(_, .some): true
          default: false
          }
        add(Self.documents(in: scope)) { rows, answer in
          answer.documents.reserveCapacity(answer.documents.count + rows.count)
          for row in 0..<rows.count {
            let version = RemoteVersion(
              sequence: UInt64(bitPattern: rows.integer(row, 1) ?? 0),
              createTime: rows.integer(row, 2) ?? 0, updateTime: rows.integer(row, 3) ?? 0,
              body: rows.bytes(row, 4) ?? [])
            answer.documents.append((rows.bytes(row, 0) ?? [], version))
            if isPage, rows.isTrue(row, 5) { answer.isInexact = true }
          }
        }
      }
      if let changes = request.changes {
        add(Self.changes(changes)) { rows, answer in
          answer.changes = (0..<rows.count).map { Self.change(rows, $0) }
        }
      }
      if let sequence = request.undoesChangesAfter {
        for scope in request.changedScopes {
          add(Self.formerVersions(in: scope, after: sequence)) { rows, answer in
            answer.formerVersions += (0..<rows.count).map { row in
              let sequence = rows.integer(row, 1).map { UInt64(bitPattern: $0) }
              return (rows.bytes(row, 0) ?? [], Self.version(sequence, rows, row, 2))
            }
          }
        }
      }
      if let scope = request.names {
        let (condition, parameters) = Self.condition(scope, on: "d", from: 1)
        add(
          PostgresStatement("SELECT d.name FROM hearth_documents d WHERE \(condition)", parameters)
        ) { rows, answer in answer.names = (0..<rows.count).map { rows.bytes($0, 0) ?? [] } }
      }
      if let time = request.lastChangeAt {
        add(
          PostgresStatement(
            """
            SELECT sequence FROM hearth_log WHERE time <= $1::bigint
            ORDER BY time DESC, sequence DESC LIMIT 1
            """, [.integer(time)])
        ) { rows, answer in answer.lastChangeAt = rows.first.map { UInt64(bitPattern: $0) } }
      }
      if let limit = request.logLimitBytes {
        add(Self.excess(over: limit)) { rows, answer throws(Status) in
          answer.lastExcess = try Self.single(rows).map { UInt64(bitPattern: $0) }
        }
      }
      if let sequence = request.timeOf {
        add(
          PostgresStatement(
            "SELECT time FROM hearth_log WHERE sequence = $1::bigint", [.integer(sequence)])
        ) { rows, answer in answer.timeOf = rows.first }
      }
      if request.withIndexes {
        add("SELECT number, record FROM hearth_indexes") { rows, answer in
          for row in 0..<rows.count {
            answer.indexes[UInt32(truncatingIfNeeded: rows.integer(row, 0) ?? 0)] = rows.bytes(
              row, 1)
          }
        }
      }
      if request.withCount {
        add("SELECT count(*) FROM hearth_documents") {
          rows, answer throws(Status) in
          answer.count = try Self.single(rows)
        }
      }
    }

    private mutating func add(_ statement: PostgresStatement, _ reader: @escaping Reader) {
      statements.append(statement)
      readers.append(reader)
    }

    // MARK: Statements

    private static let documentColumns = "d.name, d.sequence, d.created, d.updated, d.body"

    /// Whether a key may be on the wrong side of a bound or of another key: bounds are cut to this
    /// length, and longer keys end with a hash behind it.
    private static func isInexact(_ key: String, limit: Int) -> String {
      "length(\(key)) >= \(limit - PostgresSchema.hashCount)"
    }

    private static func documents(in scope: RemoteScope) -> PostgresStatement {
      let columns = documentColumns
      switch scope {
      case .documents(let keys) where keys.count == 1:
        return PostgresStatement(
          """
          SELECT \(columns) FROM hearth_documents d
          WHERE d.collection = hearth_key($1::bytea, 1000) AND d.id = hearth_key($2::bytea, 1600)
          """, [.bytes(keys[0].collection), .bytes(keys[0].id)])
      case .documents(let keys):
        // An index lookup for each, whatever the statistics say.
        return PostgresStatement(
          """
          SELECT \(columns) FROM unnest($1::bytea[], $2::bytea[]) AS k(collection, id),
          LATERAL (SELECT * FROM hearth_documents d
            WHERE d.collection = hearth_key(k.collection, 1000)
            AND d.id = hearth_key(k.id, 1600) LIMIT 1) d
          """, PostgresParameter.keys(keys))
      case .collection(_, let page?):
        let limit = PostgresSchema.idLimit
        var (condition, parameters) = condition(scope, on: "d", from: 1)
        if let from = page.from {
          parameters.append(.bytes(PostgresSchema.lower(from, limit: limit)))
          condition += " AND d.id >= $\(parameters.count)::bytea"
        }
        if let through = page.through {
          parameters.append(.bytes(PostgresSchema.upper(through, limit: limit)))
          condition += " AND d.id <= $\(parameters.count)::bytea"
        }
        parameters.append(.integer(page.limit))
        return PostgresStatement(
          """
          SELECT \(columns), \(isInexact("d.id", limit: limit))
          FROM hearth_documents d WHERE \(condition)
          ORDER BY d.id\(page.isBackward ? " DESC" : "") LIMIT $\(parameters.count)::bigint
          """, parameters)
      case .entries(let index, let ranges, let page?):
        let limit = PostgresSchema.entryLimit
        return PostgresStatement(
          """
          SELECT \(columns), \(isInexact("e.key", limit: limit)) FROM (
            SELECT * FROM hearth_entries WHERE number = $1::bigint AND key >= $2::bytea
            AND key < $3::bytea ORDER BY key\(page.isBackward ? " DESC" : "") LIMIT $4::bigint) e
          JOIN hearth_documents d ON d.collection = e.collection AND d.id = e.id
          """,
          [
            .integer(index),
            .bytes(PostgresSchema.lower(ranges[0].lower, limit: limit)),
            .bytes(PostgresSchema.upper(ranges[0].upper, limit: limit)),
            .integer(page.limit),
          ])
      case .following(_, let key, let limits):
        var (condition, parameters) = condition(scope, on: "d", from: 1)
        if let key {
          let number = parameters.count
          parameters += [.bytes(key.collection), .bytes(key.id)]
          condition += """
             AND (d.collection, d.id) > (hearth_key($\(number + 1)::bytea, 1000),
            hearth_key($\(number + 2)::bytea, 1600))
            """
        }
        parameters += [.integer(limits.count), .integer(limits.byteCount)]
        return PostgresStatement(
          """
          SELECT \(columns) FROM (
            SELECT *, sum(size) OVER (ORDER BY collection, id) - size AS before FROM (
              SELECT *, octet_length(name) + octet_length(body) AS size FROM hearth_documents d
              WHERE \(condition) ORDER BY collection, id LIMIT $\(parameters.count - 1)::bigint) d
          ) d WHERE before < $\(parameters.count)::bigint
          """, parameters)
      case .collection, .group, .subtree, .entries:
        let (condition, parameters) = condition(scope, on: "d", from: 1)
        return PostgresStatement(
          "SELECT \(columns) FROM hearth_documents d WHERE \(condition)", parameters)
      }
    }

    /// A condition on the columns of a table, with parameters from a number on.
    static func condition(
      _ scope: RemoteScope, on table: String, from first: Int
    ) -> (String, [PostgresParameter]) {
      func within(_ prefix: [UInt8], _ number: Int) -> (String, [PostgresParameter]) {
        if prefix.isEmpty { return ("true", []) }
        let (lower, upper) = PostgresSchema.bounds(prefix)
        guard let upper else {
          return ("\(table).collection >= $\(number)::bytea", [.bytes(lower)])
        }
        return (
          "\(table).collection >= $\(number)::bytea AND \(table).collection < $\(number + 1)::bytea",
          [.bytes(lower), .bytes(upper)]
        )
      }
      switch scope {
      case .documents(let keys):
        return (
          """
          (\(table).collection, \(table).id) IN (
            SELECT hearth_key(c, 1000), hearth_key(i, 1600)
            FROM unnest($\(first)::bytea[], $\(first + 1)::bytea[]) AS k(c, i))
          """, PostgresParameter.keys(keys)
        )
      case .collection(let ids, _):
        return ("\(table).collection = hearth_key($\(first)::bytea, 1000)", [.bytes(ids)])
      case .group(let id, let below):
        let (condition, parameters) = within(below, first + 1)
        return (
          "\(table).collection_id = $\(first)::bytea AND \(condition)", [.bytes(id)] + parameters
        )
      case .following(nil, _, _): return ("true", [])
      case .following(let id?, _, _):
        return ("\(table).collection_id = $\(first)::bytea", [.bytes(id)])
      case .subtree(let below): return within(below, first)
      case .entries(let index, let ranges, _):
        let limit = PostgresSchema.entryLimit
        return (
          """
          (\(table).collection, \(table).id) IN (
            SELECT e.collection, e.id
            FROM unnest($\(first + 1)::bytea[], $\(first + 2)::bytea[]) AS r(lower, upper)
            JOIN hearth_entries e ON e.number = $\(first)::bigint
            AND e.key >= r.lower AND e.key < r.upper)
          """,
          [
            .integer(index),
            .array(ranges.map { PostgresSchema.lower($0.lower, limit: limit) }),
            .array(ranges.map { PostgresSchema.upper($0.upper, limit: limit) }),
          ]
        )
      }
    }

    private static func changes(_ changes: RemoteRead.Changes) -> PostgresStatement {
      PostgresStatement(
        """
        SELECT l.sequence, l.time, l.ends, l.name, l.old_sequence, l.old_created, l.old_updated,
          l.old_body, l.new_created, l.new_updated, l.new_body
        FROM (
          SELECT *, sum(size) OVER (ORDER BY sequence) - size AS before FROM (
            SELECT * FROM hearth_log WHERE sequence > $1::bigint
            ORDER BY sequence LIMIT $2::bigint) l
        ) l WHERE before < $3::bigint ORDER BY l.sequence
        """,
        [
          .integer(changes.after), .integer(changes.limits.count),
          .integer(changes.limits.byteCount),
        ])
    }

    /// Of each document that has changed, the version before the first change.
    private static func formerVersions(
      in scope: RemoteScope, after sequence: UInt64
    ) -> PostgresStatement {
      let (condition, parameters) = condition(scope, on: "l", from: 2)
      return PostgresStatement(
        """
        SELECT DISTINCT ON (l.collection, l.id)
          l.name, l.old_sequence, l.old_created, l.old_updated, l.old_body
        FROM hearth_log l WHERE l.sequence > $1::bigint AND \(condition)
        ORDER BY l.collection, l.id, l.sequence
        """, [.integer(sequence)] + parameters)
    }

    /// Reads nothing of the log if there is no excess.
    private static func excess(over limitBytes: Int) -> PostgresStatement {
      PostgresStatement(
        """
        SELECT max(sequence) FROM (
          SELECT sequence, sum(size) OVER (ORDER BY sequence) - size AS before FROM (
            SELECT sequence, size FROM hearth_log
            WHERE (SELECT logged_bytes FROM hearth_store) > $1::bigint
            ORDER BY sequence LIMIT 50000) l
        ) l WHERE before < (SELECT logged_bytes FROM hearth_store) - $1::bigint
        """, [.integer(limitBytes)])
    }

    // MARK: Rows

    /// The answer, from the rows of the statements.
    func answer(_ results: [PostgresRows]) throws(Status) -> RemoteAnswer {
      guard let rows = results.first, rows.count == 1 else {
        throw Status(.dataLoss, "The record of the store is missing.")
      }
      func number(_ column: Int) -> Int64 { rows.integer(0, column) ?? 0 }
      // Read with the lock, so that it holds for everything that is written until the commit.
      guard number(8) == PostgresSchema.format else {
        throw PostgresSchema.upgraded(to: number(8))
      }
      var answer = RemoteAnswer(
        record: RemoteRecord(
          history: number(0), isRestored: rows.isTrue(0, 7),
          sequence: UInt64(bitPattern: number(1)), time: number(2),
          firstLogged: UInt64(bitPattern: number(3)), trimmedTime: number(4),
          generation: UInt64(bitPattern: number(5)), readTime: number(6)))
      guard results.count > readers.count else { throw Self.incomplete }
      for (read, rows) in zip(readers, results.dropFirst()) { try read(rows, &answer) }
      return answer
    }

    /// The number of a statement that has one row.
    private static func single(_ rows: PostgresRows) throws(Status) -> Int64? {
      guard rows.count == 1 else { throw incomplete }
      return rows.first
    }

    private static func change(_ rows: PostgresRows, _ row: Int) -> RemoteLoggedChange {
      let sequence = UInt64(bitPattern: rows.integer(row, 0) ?? 0)
      return RemoteLoggedChange(
        sequence: sequence, time: rows.integer(row, 1) ?? 0, endsCommit: rows.isTrue(row, 2),
        name: rows.bytes(row, 3) ?? [],
        before: version(rows.integer(row, 4).map { UInt64(bitPattern: $0) }, rows, row, 5),
        after: version(sequence, rows, row, 8))
    }

    /// - Parameter column: Of the create time; the update time and the body follow.
    private static func version(
      _ sequence: UInt64?, _ rows: PostgresRows, _ row: Int, _ column: Int
    ) -> RemoteVersion? {
      guard let sequence, let body = rows.bytes(row, column + 2) else { return nil }
      return RemoteVersion(
        sequence: sequence, createTime: rows.integer(row, column) ?? 0,
        updateTime: rows.integer(row, column + 1) ?? 0, body: body)
    }

    static let incomplete = Status(
      .internal, "PostgreSQL answered fewer statements than it was asked.")
  }
#endif
