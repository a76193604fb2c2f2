import CLibpq
import Foundation

/// A program written for one purpose: the same rows in the same tables, under the same lock, with
/// libpq's pipeline mode and prepared statements.
final class Peer {
  struct Failure: Error { var message: String }

  private let connection: OpaquePointer
  private var names: [String: String] = [:]

  init(_ url: String) throws {
    guard let connection = PQconnectdb(url), PQstatus(connection) == CONNECTION_OK else {
      throw Failure(message: "There is no connection to \(url).")
    }
    self.connection = connection
    PQenterPipelineMode(connection)
    // As Hearth's connections.
    _ = try run([("SET enable_seqscan = off", []), ("SET jit = off", [])])
  }

  deinit { PQfinish(connection) }

  /// The rows of all statements, in one round trip.
  func run(_ statements: [(String, [[UInt8]])]) throws -> [[[[UInt8]]]] {
    for (text, values) in statements {
      if names[text] == nil {
        let name = "p\(names.count)"
        PQsendPrepare(connection, name, text, 0, nil)
        names[text] = name
      }
      let storage = values.map { value in
        let copy = UnsafeMutablePointer<CChar>.allocate(capacity: value.count + 1)
        for (index, byte) in value.enumerated() { copy[index] = CChar(bitPattern: byte) }
        return copy
      }
      defer { storage.forEach { $0.deallocate() } }
      let pointers: [UnsafePointer<CChar>?] = storage.map { UnsafePointer($0) }
      PQsendQueryPrepared(
        connection, names[text], Int32(values.count), pointers, values.map { Int32($0.count) },
        [Int32](repeating: 1, count: values.count), 1)
    }
    PQpipelineSync(connection)
    var answers: [[[[UInt8]]]] = []
    while true {
      guard let result = PQgetResult(connection) else { continue }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_PIPELINE_SYNC: return answers
      case PGRES_TUPLES_OK:
        answers.append(
          (0..<PQntuples(result)).map { row in
            (0..<PQnfields(result)).map { column in
              Array(
                UnsafeRawBufferPointer(
                  start: PQgetvalue(result, row, column),
                  count: Int(PQgetlength(result, row, column))))
            }
          })
      case PGRES_COMMAND_OK: break
      default: throw Failure(message: String(cString: PQresultErrorMessage(result)))
      }
    }
  }

  static func integer(_ value: Int64) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }

  static func integer(_ bytes: [UInt8]) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }

  // MARK: Verbs

  private static let columns = "name, sequence, created, updated, body"
  private static let one = """
    SELECT \(columns) FROM hearth_documents WHERE collection = $1::bytea AND id = $2::bytea
    """

  func get(_ id: String) throws -> [[UInt8]]? {
    try run([(Self.one, [Array("c".utf8), Array(id.utf8)])])[0].first
  }

  func query(_ collection: String) throws -> Int {
    try run([
      (
        "SELECT \(Self.columns) FROM hearth_documents WHERE collection = $1::bytea",
        [Array(collection.utf8)]
      )
    ])[0].count
  }

  /// - Parameter seen: The update time that the document must have.
  func commit(
    _ id: String, in collection: String = "c", _ body: [UInt8], seen: Int64? = nil
  ) throws {
    var random = [UInt8](repeating: 0, count: 16)
    for index in random.indices { random[index] = .random(in: 0...255) }
    let key = [Array(collection.utf8), Array(id.utf8)]
    var statements: [(String, [[UInt8]])] = [
      ("BEGIN", []), ("SELECT sequence FROM hearth_store FOR UPDATE", []),
    ]
    if let seen {
      // Fails if it has changed.
      statements.append(
        (
          """
          SELECT 1 / (count(*))::integer FROM hearth_documents
          WHERE collection = $1::bytea AND id = $2::bytea AND updated = $3::bigint
          """, key + [Self.integer(seen)]
        ))
    }
    statements += [
      (
        "INSERT INTO hearth_commits (id, is_refused) VALUES ($1::bytea, false)", [random]
      ),
      (
        """
        INSERT INTO hearth_log
        SELECT s.sequence + 1, s.time + 1, true, $1::bytea, $2::bytea, $1::bytea, $2::bytea,
          d.sequence, d.created, d.updated, d.body, coalesce(d.created, s.time + 1), s.time + 1,
          $3::bytea
        FROM hearth_store s LEFT JOIN hearth_documents d
          ON d.collection = $1::bytea AND d.id = $2::bytea
        """, key + [body]
      ),
      (
        """
        INSERT INTO hearth_documents
        SELECT $1::bytea, $2::bytea, $1::bytea, $2::bytea, sequence + 1, time + 1, time + 1, $3::bytea
        FROM hearth_store
        ON CONFLICT (collection, id) DO UPDATE SET sequence = excluded.sequence,
          updated = excluded.updated, body = excluded.body
        """, key + [body]
      ),
      ("UPDATE hearth_store SET sequence = sequence + 1, time = time + 1", []),
      ("NOTIFY news", []),
      ("COMMIT", []),
    ]
    _ = try run(statements)
  }

  func transaction(_ id: String, _ body: [UInt8]) throws {
    let seen = try get(id).map { Self.integer($0[3]) }
    try commit(id, body, seen: seen)
  }

  // MARK: News

  func listen() throws { _ = try run([("LISTEN news", [])]) }

  /// The changes after a sequence, when a notification has come.
  func news(after sequence: inout Int64) throws {
    while true {
      var isNotified = false
      while !isNotified {
        var poll = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        _ = Glibc.poll(&poll, 1, 1000)
        PQconsumeInput(connection)
        while let notification = PQnotifies(connection) {
          PQfreemem(notification)
          isNotified = true
        }
      }
      let rows = try run([
        (
          "SELECT sequence, name, new_body FROM hearth_log WHERE sequence > $1::bigint ORDER BY sequence",
          [Self.integer(sequence)]
        )
      ])[0]
      if let last = rows.last {
        sequence = Self.integer(last[0])
        return
      }
    }
  }
}
