#if Postgres
  import HearthEngine

  /// A `RemoteBlindBatch` as statements, and its answer from their rows.
  ///
  ///     the lock ─▶ for each wave one statement: documents before ─▶ what is refused ─▶ what changes
  ///         └─▶ documents, entries, log, the store's record, the answer with the commit's id
  ///
  /// The statement of a wave sees what was committed before it took the lock, and the waves before it.
  struct PostgresBlindBatch {
    private let batch: RemoteBlindBatch

    /// With more writes, joins are planned for their number.
    private static let smallCount = 32

    init(_ batch: RemoteBlindBatch) { self.batch = batch }

    /// The id of the commit, then those that the answers of several waves have.
    var ids: [[UInt8]] {
      guard batch.waves.count > 1 else { return [batch.id] }
      return [batch.id] + batch.waves.indices.map { batch.id + [UInt8($0)] }
    }

    private var idsOfWaves: [[UInt8]] { batch.waves.count > 1 ? Array(ids.dropFirst()) : ids }

    private var isLarge: Bool {
      batch.waves.contains { max($0.writes.count, $0.entries.count) > Self.smallCount }
    }

    // MARK: Statements

    var statements: [PostgresStatement] {
      var statements: [PostgresStatement] = []
      if isLarge {
        statements.append("SET LOCAL plan_cache_mode = force_custom_plan")
      }
      statements.append("SELECT format FROM hearth_store FOR UPDATE")
      if batch.waves.count > 1 {
        let noted = """
          INSERT INTO hearth_commits (id, is_refused)
          SELECT $1::bytea, false FROM hearth_store WHERE format = \(PostgresSchema.format)
          """
        statements.append(PostgresStatement(noted, [.bytes(batch.id)]))
      }
      for (wave, id) in zip(batch.waves, idsOfWaves) { statements.append(statement(wave, id)) }
      return statements
    }

    private func statement(_ wave: RemoteBlindBatch.Wave, _ id: [UInt8]) -> PostgresStatement {
      var parameters: [PostgresParameter] = [
        .integer(batch.generation), .integer(batch.time), .bytes(id),
      ]
      parameters += Self.columns(wave.writes)
      var entries = ""
      if !batch.indexes.isEmpty {
        entries = Self.entries(from: parameters.count + 1)
        parameters += [
          .array(wave.entries.map { $0.write + 1 }),
          .array(wave.entries.map(\.index)),
          .array(wave.entries.map(\.key)),
          .array(batch.indexes),
        ]
      }
      var unchanged = """
         AND sequence >= $\(parameters.count + 1)::bigint
        AND greatest($2::bigint, time + 1, read_time + 1) <= $\(parameters.count + 2)::bigint
        """
      parameters += [.integer(batch.seen), .integer(batch.latestTime)]
      for one in wave.unchanged {
        let number = parameters.count + 1
        let (condition, values) = PostgresQueries.condition(one.scope, on: "l", from: number + 1)
        unchanged += """
           AND $\(number)::bigint BETWEEN first_logged - 1 AND sequence AND NOT EXISTS (
            SELECT FROM hearth_log l WHERE l.sequence > $\(number)::bigint AND \(condition))
          """
        parameters += [.integer(one.since)] + values
      }
      return PostgresStatement(
        Self.text(
          unchanged: unchanged, entries: entries, isOnly: batch.waves.count == 1), parameters)
    }

    /// The parameters from the fourth on.
    private static func columns(_ writes: [RemoteBlindBatch.Write]) -> [PostgresParameter] {
      [.array(writes.map(\.job))] + PostgresParameter.keys(writes.map(\.key)) + [
        .array(writes.map(\.key.collectionID)), .array(writes.map(\.key.name)),
        .array(
          writes.map { write -> Int in
            switch write.operation {
            case .verify: 0
            case .store: 1
            case .delete: 2
            }
          }),
        .array(
          writes.map { write -> [UInt8]? in
            if case .store(let body) = write.operation { body } else { nil }
          }),
        .array(
          writes.map { write -> Int in
            switch write.condition {
            case .none: 0
            case .exists(true): 1
            case .exists(false): 2
            case .updateTime: 3
            }
          }),
        .array(
          writes.map { write -> Int64? in
            if case .updateTime(let time) = write.condition { time.microseconds } else { nil }
          }),
      ]
    }

    /// The rows of `decided` are the writes in their order; `changed` are those that change something.
    private static func text(unchanged: String, entries: String, isOnly: Bool) -> String {
      """
      WITH store AS MATERIALIZED (
        SELECT sequence, greatest(time, read_time) AS time,
          greatest($2::bigint, time + 1, read_time + 1) AS next
        FROM hearth_store
        WHERE format = \(PostgresSchema.format) AND generation = $1::bigint\(unchanged)
      ), found AS MATERIALIZED (
        SELECT w.*, d.place, d.sequence AS old_sequence, d.created AS old_created,
          d.updated AS old_updated, d.body AS old_body,
          CASE w.condition WHEN 1 THEN d.sequence IS NULL WHEN 2 THEN d.sequence IS NOT NULL
            WHEN 3 THEN d.updated IS DISTINCT FROM w.at ELSE false END AS is_refused
        FROM (
          SELECT number, job, hearth_key(collection, 1000) AS collection,
            hearth_key(id, 1600) AS id, collection_id, name, operation, body, condition, at
          FROM unnest($4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[],
            $9::bigint[], $10::bytea[], $11::bigint[], $12::bigint[]) WITH ORDINALITY
            AS u(job, collection, id, collection_id, name, operation, body, condition, at, number)
        ) w LEFT JOIN LATERAL (
          SELECT ctid AS place, sequence, created, updated, body FROM hearth_documents
          WHERE collection = w.collection AND id = w.id LIMIT 1) d ON true
      ), decided AS MATERIALIZED (
        SELECT f.*, store.next - 1 + dense_rank() OVER (PARTITION BY is_commit ORDER BY job) AS time,
          store.sequence + row_number() OVER (PARTITION BY changes ORDER BY number) AS sequence,
          number = max(number) OVER (PARTITION BY changes, job) AS ends
        FROM store, (
          SELECT *, is_commit AND (
            operation = 1 AND body IS DISTINCT FROM old_body
            OR operation = 2 AND old_sequence IS NOT NULL) AS changes
          FROM (
            SELECT *, job NOT IN (SELECT job FROM found WHERE is_refused)
              AND max(operation) OVER (PARTITION BY job) > 0 AS is_commit
            FROM found) g) f
      ), answer AS MATERIALIZED (
        SELECT int8send(sequence) || int8send(time) || int8send(next) || coalesce((
          SELECT string_agg(
            int8send(coalesce(old_updated, -9223372036854775808))
              || int8send(is_refused::integer::bigint)
              || int8send(CASE WHEN changes THEN sequence ELSE 0 END)
              || int8send(CASE WHEN is_commit THEN time ELSE 0 END), '' ORDER BY number)
          FROM decided), '') AS answer
        FROM store
      ), changed AS MATERIALIZED (
        SELECT * FROM decided WHERE changes
      ), committed AS (
        INSERT INTO hearth_commits (id, is_refused, answer)
        SELECT $3::bytea, false, answer FROM answer
        \(isOnly ? "WHERE EXISTS (SELECT FROM changed)" : "")
      ), stored AS (
        INSERT INTO hearth_documents
        SELECT collection, id, collection_id, name, sequence, coalesce(old_created, time), time, body
        FROM changed WHERE operation = 1
        ON CONFLICT (collection, id) DO UPDATE SET sequence = excluded.sequence,
          created = excluded.created, updated = excluded.updated, body = excluded.body
      ), deleted AS (
        DELETE FROM hearth_documents
        WHERE ctid = ANY (ARRAY (SELECT place FROM changed WHERE operation = 2))
      ), logged AS (
        INSERT INTO hearth_log
        SELECT sequence, time, ends, collection, id, collection_id, name, old_sequence, old_created,
          old_updated, old_body, CASE operation WHEN 1 THEN coalesce(old_created, time) END,
          CASE operation WHEN 1 THEN time END, body
        FROM changed RETURNING size
      ), \(entries)moved AS (
        UPDATE hearth_store s SET sequence = greatest(s.sequence, n.sequence),
          time = greatest(s.time, n.time), read_time = greatest(s.read_time, n.newest),
          logged_bytes = s.logged_bytes + (SELECT coalesce(sum(size), 0) FROM logged)
        FROM (
          SELECT max(sequence) FILTER (WHERE changes) AS sequence,
            max(time) FILTER (WHERE changes) AS time, max(time) AS newest
          FROM decided WHERE is_commit) n
        WHERE n.newest IS NOT NULL
      )
      SELECT answer FROM answer
      """
    }

    /// Replaces the entries of what has changed. Those that stay are not touched.
    private static func entries(from number: Int) -> String {
      """
      entry AS MATERIALIZED (
        SELECT write, number, hearth_key(key, 2500) AS key
        FROM unnest($\(number)::bigint[], $\(number + 1)::bigint[], $\(number + 2)::bytea[])
          AS u(write, number, key)
      ), removed AS (
        DELETE FROM hearth_entries WHERE ctid = ANY (ARRAY (
          SELECT e.place FROM changed c, LATERAL (
            SELECT ctid AS place, number, key FROM hearth_entries
            WHERE collection = c.collection AND id = c.id OFFSET 0) e
          WHERE c.old_sequence IS NOT NULL AND e.number = ANY ($\(number + 3)::bigint[])
          AND (c.number, e.number, e.key) NOT IN (SELECT write, number, key FROM entry)))
      ), added AS (
        INSERT INTO hearth_entries
        SELECT e.number, e.key, c.collection, c.id FROM entry e JOIN changed c ON c.number = e.write
        ON CONFLICT (number, key) DO NOTHING
      ),
      """ + " "
    }

    // MARK: Answers

    /// - Parameter rows: Of the statements.
    func answer(_ rows: ArraySlice<PostgresRows>) throws(Status) -> [RemoteBlindAnswer?] {
      let rows = Array(rows)
      // Before them, and the end of the transaction behind.
      let first = statements.count - batch.waves.count
      guard rows.count == statements.count + 1 else { throw PostgresQueries.incomplete }
      // The waves have done nothing then.
      let format = rows[isLarge ? 1 : 0].integer(0, 0) ?? 0
      guard format == PostgresSchema.format else { throw PostgresSchema.upgraded(to: format) }
      return try answer(
        rows[first...].prefix(batch.waves.count).map { $0.count == 0 ? nil : $0.bytes(0, 0) })
    }

    /// - Parameter answers: By the ids of the waves.
    func answer(_ answers: [[UInt8]: [UInt8]]) throws(Status) -> [RemoteBlindAnswer?] {
      try answer(idsOfWaves.map { answers[$0] })
    }

    private func answer(_ answers: [[UInt8]?]) throws(Status) -> [RemoteBlindAnswer?] {
      try zip(batch.waves, answers).map { wave, bytes throws(Status) in
        guard let bytes else { return nil }
        guard let answer = RemoteBlindAnswer(bytes), answer.outcomes.count == wave.writes.count
        else { throw PostgresQueries.incomplete }
        return answer
      }
    }
  }
#endif
