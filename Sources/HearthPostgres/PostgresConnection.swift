#if Postgres
  internal import CPostgres
  import Foundation
  import HearthEngine

  /// One statement with its parameters, in binary form.
  struct PostgresStatement: Sendable, ExpressibleByStringInterpolation {
    var text: String
    var parameters: [PostgresParameter]

    init(_ text: String, _ parameters: [PostgresParameter] = []) {
      self.text = text
      self.parameters = parameters
    }

    init(stringLiteral text: String) { self.init(text) }
  }

  /// The rows of a result, in binary form. Borrowed from libpq until it is freed.
  final class PostgresRows {
    private let result: OpaquePointer

    fileprivate init(_ result: OpaquePointer) { self.result = result }
    deinit { PQclear(result) }

    var count: Int { Int(PQntuples(result)) }

    private func field(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
      let (row, column) = (Int32(row), Int32(column))
      guard PQgetisnull(result, row, column) == 0 else { return nil }
      return UnsafeRawBufferPointer(
        start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }

    func bytes(_ row: Int, _ column: Int) -> [UInt8]? { field(row, column).map { Array($0) } }

    func integer(_ row: Int, _ column: Int) -> Int64? {
      field(row, column).map { $0.reduce(0) { $0 << 8 | Int64($1) } }
    }

    /// The integer of a statement that returns one row at most; nil without a row.
    var first: Int64? { count == 0 ? nil : integer(0, 0) }

    func isTrue(_ row: Int, _ column: Int) -> Bool { field(row, column)?.first == 1 }
  }

  /// A connection, for one thread at a time. Statements are sent together and answered together:
  /// libpq's pipeline mode.
  final class PostgresConnection {
    private let connection: OpaquePointer
    /// The names of prepared statements.
    private var prepared: [String: String] = [:]
    private var preparedCount = 0
    /// The preparations of a group whose answer nobody has read.
    private var unread: [[Bool]] = []

    /// Connects: blocks.
    ///
    /// - Parameter defaults: Settings that the URL may override.
    init(_ url: String, defaults: [(String, String)]) throws(PostgresFailure) {
      // The later value of a name wins; `dbname` is expanded at its place.
      let names = defaults.map(\.0) + ["dbname"]
      let values = defaults.map(\.1) + [url]
      var namePointers: [UnsafePointer<CChar>?] = names.map { UnsafePointer(strdup($0)) } + [nil]
      var valuePointers: [UnsafePointer<CChar>?] = values.map { UnsafePointer(strdup($0)) } + [nil]
      defer {
        for pointer in namePointers + valuePointers {
          free(UnsafeMutablePointer(mutating: pointer))
        }
      }
      guard let connection = PQconnectdbParams(&namePointers, &valuePointers, 1) else {
        throw PostgresFailure(state: "53200", message: "No memory for a connection.")
      }
      self.connection = connection
      guard PQstatus(connection) == CONNECTION_OK else {
        throw refusal
      }
      guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
        throw lost
      }
    }

    deinit { PQfinish(connection) }

    private static func message(_ connection: OpaquePointer) -> String {
      String(cString: PQerrorMessage(connection)).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Why there is no connection. libpq keeps the code of a refused login only in its text, and there
    /// only if that was asked for before the attempt: so there is a second one.
    private var refusal: PostgresFailure {
      var failure = lost
      guard failure.message.contains("FATAL") else { return failure }
      PQsetErrorVerbosity(connection, PQERRORS_SQLSTATE)
      PQreset(connection)
      let code = String(Self.message(connection).suffix(5))
      if PostgresFailure(state: code, message: "").isRefusedLogin { failure.state = code }
      return failure
    }

    private var lost: PostgresFailure {
      PostgresFailure(state: "", message: Self.message(connection))
    }

    var descriptor: Int32 { PQsocket(connection) }

    // MARK: Sending

    /// Executes groups of statements, in one round trip. A group without an explicit transaction is
    /// one of its own. Throws if the connection fails; the failure of a group is in its place.
    ///
    /// - Parameters:
    ///   - last: Another group, whose answer is not waited for.
    ///   - answered: Called with each group's answer as it comes.
    func run(
      _ groups: [[PostgresStatement]], last: [PostgresStatement]? = nil,
      _ answered: (Int, Result<[PostgresRows], PostgresFailure>) -> Void
    ) throws(PostgresFailure) {
      var preparations: [[Bool]] = []
      for group in groups + (last.map { [$0] } ?? []) {
        preparations.append(
          try group.map { statement throws(PostgresFailure) in try send(statement) })
        guard PQpipelineSync(connection) == 1 else { throw lost }
      }
      let before = unread
      unread = last == nil ? [] : preparations.suffix(1)
      for isPrepared in before { _ = try answer(isPrepared) }
      for position in groups.indices {
        answered(position, try answer(preparations[position]))
      }
    }

    /// Same, for one group whose failure is thrown.
    func run(_ statements: [PostgresStatement]) throws(PostgresFailure) -> [PostgresRows] {
      var answer: Result<[PostgresRows], PostgresFailure> = .success([])
      try run([statements]) { answer = $1 }
      return try answer.get()
    }

    /// Returns whether the statement is prepared first, which has a result of its own.
    private func send(_ statement: PostgresStatement) throws(PostgresFailure) -> Bool {
      let isNew = prepared[statement.text] == nil
      let name: String
      if let known = prepared[statement.text] {
        name = known
      } else {
        preparedCount += 1
        name = "s\(preparedCount)"
        guard PQsendPrepare(connection, name, statement.text, 0, nil) == 1 else { throw lost }
        prepared[statement.text] = name
      }
      let count = statement.parameters.count
      let lengths = statement.parameters.map { Int32($0.bytes.count) }
      let formats = [Int32](repeating: 1, count: count)
      // One allocation for all values.
      let total = statement.parameters.reduce(1) { $0 + $1.bytes.count + 1 }
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: total)
      defer { buffer.deallocate() }
      var values: [UnsafePointer<CChar>?] = []
      var offset = 0
      for parameter in statement.parameters {
        parameter.bytes.withUnsafeBytes { bytes in
          if let base = bytes.baseAddress {
            UnsafeMutableRawPointer(buffer + offset).copyMemory(
              from: base, byteCount: bytes.count)
          }
        }
        values.append(UnsafePointer(buffer + offset))
        offset += parameter.bytes.count + 1
      }
      guard
        PQsendQueryPrepared(
          connection, name, Int32(count), values, lengths, formats, 1) == 1
      else { throw lost }
      return isNew
    }

    /// - Parameter isPrepared: For each statement of a group, whether it was prepared first.
    private func answer(
      _ isPrepared: [Bool]
    ) throws(PostgresFailure) -> Result<[PostgresRows], PostgresFailure> {
      var rows: [PostgresRows] = []
      var failure: PostgresFailure?
      // Which results are of statements.
      var isRows = isPrepared.flatMap { $0 ? [false, true] : [true] }[...]
      var ended = 0
      while true {
        let next: OpaquePointer?
        do throws(PostgresFailure) { next = try self.next() } catch {
          // The server has said why it ends the connection.
          throw failure.flatMap { $0.isOfConnection ? $0 : nil } ?? error
        }
        guard let result = next else {
          // The end of one statement's results.
          ended += 1
          if ended > isPrepared.count * 2 + 2 { throw lost }
          continue
        }
        let status = PQresultStatus(result)
        if status == PGRES_PIPELINE_SYNC {
          PQclear(result)
          break
        }
        if status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK {
          let answer = PostgresRows(result)
          if isRows.popFirst() == true { rows.append(answer) }
          continue
        }
        if status != PGRES_PIPELINE_ABORTED, failure == nil {
          func field(_ code: Character) -> String? {
            PQresultErrorField(result, Int32(code.asciiValue ?? 0)).map { String(cString: $0) }
          }
          // Without a code it is libpq's, of a connection that has ended.
          failure =
            field("C").map { PostgresFailure(state: $0, message: field("M") ?? "") } ?? lost
        }
        PQclear(result)
        if let failure, failure.state.isEmpty { throw failure }
        // After a fatal error the server ends the connection.
        if PQstatus(connection) != CONNECTION_OK { throw failure ?? lost }
      }
      guard let failure else { return .success(rows) }
      // Statements of a failed group may not have been prepared.
      prepared = [:]
      return .failure(failure)
    }

    /// The next result; nil between statements. Blocks.
    private func next() throws(PostgresFailure) -> OpaquePointer? {
      while true {
        let flushed = PQflush(connection)
        guard flushed >= 0 else { throw lost }
        if PQisBusy(connection) == 0 { return PQgetResult(connection) }
        let milliseconds = Int32(patience * 1000)
        guard try poll(forWriting: flushed == 1, milliseconds: milliseconds) else {
          throw PostgresFailure(
            state: "", message: "The server has not answered for \(milliseconds / 1000) seconds.")
        }
        guard PQconsumeInput(connection) == 1 else { throw lost }
      }
    }

    // MARK: Waiting

    /// Longer than a statement may take: a server that does not answer for so long hangs, and another
    /// one may have taken its place. In seconds.
    static let longPatience = 90.0
    /// How long an answer is waited for, in seconds.
    var patience = longPatience

    /// Blocks until the server has sent something, or the time is over.
    private func poll(forWriting: Bool, milliseconds: Int32) throws(PostgresFailure) -> Bool {
      var poll = pollfd(
        fd: descriptor, events: Int16(POLLIN) | (forWriting ? Int16(POLLOUT) : 0), revents: 0)
      let count = Glibc.poll(&poll, 1, milliseconds)
      guard count >= 0 || errno == EINTR else {
        let reason = FileError.sentence(forCode: errno)
        throw PostgresFailure(state: "", message: "Waiting for the server failed. \(reason)")
      }
      return count != 0
    }

    /// Blocks until a notification comes, or the time is over. True for a notification.
    func waitForNotification(milliseconds: Int32) throws(PostgresFailure) -> Bool {
      // It may have come with the answer to a statement.
      if takeNotifications() { return true }
      _ = try poll(forWriting: false, milliseconds: milliseconds)
      guard PQconsumeInput(connection) == 1 else { throw lost }
      return takeNotifications()
    }

    private func takeNotifications() -> Bool {
      var isNotified = false
      while let notification = PQnotifies(connection) {
        PQfreemem(notification)
        isNotified = true
      }
      return isNotified
    }
  }
#endif
