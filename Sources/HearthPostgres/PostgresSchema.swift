#if Postgres
  import HearthEngine

  /// The tables, in the first schema of the connection's search path.
  ///
  ///     hearth_store      one row: the newest sequence and time; its lock orders all commits
  ///     hearth_documents  the newest versions, by collection and id
  ///     hearth_log        every change, with the versions before and after it
  ///     hearth_commits    the ids of commits, and those that must never be applied
  ///     hearth_indexes    the records of indexes; under 0, that of the TTL policies
  ///     hearth_entries    the entries of indexes
  ///
  /// Keys are our own bytes, in our own order. A key of an index of PostgreSQL has at most 2,704
  /// bytes: longer ones end with a hash of the whole, and collections, ids and entries have limits
  /// that leave room for each other.
  ///
  /// A new database is made in format 1 and upgraded like an old one, so that both are the same.
  enum PostgresSchema {
    static let format: Int64 = 4

    /// The error for tables that another process has upgraded while they are open here.
    static func upgraded(to format: Int64) -> Status {
      Status(
        .failedPrecondition,
        "Another process has upgraded the tables to format \(format), and this one supports format "
          + "\(Self.format). Restart it with the version of Hearth that upgraded the tables.")
    }

    /// Longer keys are shortened to these bytes, with a hash as their last 32.
    static let collectionLimit = 1000
    static let idLimit = 1600
    static let entryLimit = 2500
    static let hashCount = 32

    /// Makes tables of format 1. Without parameters. In order, in one transaction, under a lock.
    static let creation = [
      """
      CREATE TABLE hearth_store (
        one boolean PRIMARY KEY DEFAULT true CHECK (one), format bigint NOT NULL,
        history bigint NOT NULL, sequence bigint NOT NULL, time bigint NOT NULL,
        first_logged bigint NOT NULL, trimmed_time bigint NOT NULL, generation bigint NOT NULL
      ) WITH (fillfactor = 10)
      """,
      """
      CREATE TABLE hearth_documents (
        collection bytea NOT NULL, id bytea NOT NULL, collection_id bytea NOT NULL,
        name bytea NOT NULL, sequence bigint NOT NULL, created bigint NOT NULL,
        updated bigint NOT NULL, body bytea NOT NULL, PRIMARY KEY (collection, id))
      """,
      "CREATE INDEX hearth_documents_group ON hearth_documents (collection_id)",
      """
      CREATE TABLE hearth_log (
        sequence bigint PRIMARY KEY, time bigint NOT NULL, ends boolean NOT NULL,
        collection bytea NOT NULL, id bytea NOT NULL, collection_id bytea NOT NULL,
        name bytea NOT NULL, old_sequence bigint, old_created bigint, old_updated bigint,
        old_body bytea, new_created bigint, new_updated bigint, new_body bytea)
      """,
      "CREATE INDEX hearth_log_time ON hearth_log (time)",
      """
      CREATE TABLE hearth_commits (
        id bytea PRIMARY KEY, is_refused boolean NOT NULL,
        made timestamptz NOT NULL DEFAULT now())
      """,
      "CREATE TABLE hearth_indexes (number bigint PRIMARY KEY, record bytea NOT NULL)",
      """
      CREATE TABLE hearth_entries (
        number bigint NOT NULL, key bytea NOT NULL, collection bytea NOT NULL, id bytea NOT NULL,
        PRIMARY KEY (number, key))
      """,
      """
      CREATE FUNCTION hearth_key(bytea, integer) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE
      AS $$ SELECT CASE WHEN length($1) <= $2 THEN $1
        ELSE substr($1, 1, $2 - 32) || sha256($1) END $$
      """,
      """
      INSERT INTO hearth_store VALUES (
        true, 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 0, 0, 1, 0, 0)
      """,
    ]

    /// From each format, beginning with 1, to the next. Statements as those of `creation`.
    static let upgrades = [
      [
        // Commits get later times than reads.
        "ALTER TABLE hearth_store ADD COLUMN read_time bigint NOT NULL DEFAULT 0",
        // The outcomes of the writes of a commit.
        "ALTER TABLE hearth_commits ADD COLUMN answer bytea",
        "CREATE INDEX hearth_entries_document ON hearth_entries (collection, id)",
        "UPDATE hearth_store SET format = 2",
      ],
      [
        // For limits in bytes. Lengths are known without reading what is stored out of line.
        """
        ALTER TABLE hearth_log ADD COLUMN size bigint NOT NULL GENERATED ALWAYS AS (
          100 + 2 * octet_length(name) + coalesce(octet_length(old_body), 0)
          + coalesce(octet_length(new_body), 0)) STORED
        """,
        "ALTER TABLE hearth_store ADD COLUMN logged_bytes bigint NOT NULL DEFAULT 0",
        // Where the tables were made: elsewhere, they were restored from a dump.
        "ALTER TABLE hearth_store ADD COLUMN origin text NOT NULL DEFAULT ''",
        "ALTER TABLE hearth_store ADD COLUMN is_restored boolean NOT NULL DEFAULT false",
        // Two restores of one backup get different ids.
        """
        CREATE FUNCTION hearth_new_history() RETURNS void LANGUAGE sql AS $$
          UPDATE hearth_store SET is_restored = true, history =
            greatest(history + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
            + (random() * 1e9)::bigint
        $$
        """,
        """
        UPDATE hearth_store SET format = 3,
          logged_bytes = (SELECT coalesce(sum(size), 0) FROM hearth_log)
        """,
      ],
      [
        // For trimming.
        "CREATE INDEX hearth_commits_made ON hearth_commits (made)",
        "CREATE INDEX hearth_log_time_sequence ON hearth_log (time, sequence)",
        "DROP INDEX hearth_log_time",
        "UPDATE hearth_store SET format = 4",
      ],
    ]

    /// Removes old ids of commits. Those that another process removes are passed over.
    static let oldCommitIDs = """
      DELETE FROM hearth_commits WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM hearth_commits WHERE made < now() - interval '1 day'
        AND (SELECT format FROM hearth_store) = \(format)
        ORDER BY made LIMIT \(oldCommitCount) FOR UPDATE SKIP LOCKED))
      RETURNING true
      """
    static let oldCommitCount = 5000

    /// The greatest of the stored times up to $1, and of all.
    static let storedTimes = """
      SELECT max(t) FILTER (WHERE t <= $1::bigint), max(t) FROM (
        SELECT created AS t FROM hearth_documents UNION ALL SELECT updated FROM hearth_documents
        UNION ALL SELECT time FROM hearth_log UNION ALL SELECT time FROM hearth_store) s
      """

    /// With `TimeRepair`'s now, kept and newest as parameters. Returns the number of documents with
    /// other times.
    static let documentTimeRepair = """
      WITH repaired AS (
        UPDATE hearth_documents SET created = \(corrected("created")),
          updated = \(corrected("updated"))
        WHERE created > $1::bigint OR updated > $1::bigint RETURNING true)
      SELECT count(*) FROM repaired
      """

    /// With the same parameters. The change log begins again, behind a sequence of no change.
    static let storeTimeRepair = """
      UPDATE hearth_store SET sequence = sequence + 1, first_logged = sequence + 2,
        logged_bytes = 0, time = \(corrected("time")), trimmed_time = \(corrected("time")),
        read_time = \(corrected("read_time"))
      """

    private static func corrected(_ column: String) -> String {
      """
      CASE WHEN \(column) <= $1::bigint THEN \(column)
        ELSE greatest($2::bigint, $1::bigint - ($3::bigint - \(column))) END
      """
    }

    /// A dump that was restored begins a new history: tokens of the former one may be of changes that
    /// the dump does not have. Without parameters.
    static let originCheck = [
      """
      SELECT hearth_new_history() FROM hearth_store WHERE origin NOT IN ('', \(origin))
      """,
      "UPDATE hearth_store SET origin = \(origin) WHERE origin <> \(origin)",
    ]

    private static let origin = """
      (SELECT system_identifier FROM pg_control_system())::text || '/'
        || 'hearth_store'::regclass::oid
      """

    /// At or before every shortened key of the keys from `bound` on.
    static func lower(_ bound: [UInt8], limit: Int) -> [UInt8] {
      Array(bound.prefix(limit - hashCount))
    }

    /// Behind every shortened key of the keys before `bound`.
    static func upper(_ bound: [UInt8], limit: Int) -> [UInt8] {
      guard bound.count > limit - hashCount else { return bound }
      return bound.prefix(limit - hashCount) + [UInt8](repeating: 0xFF, count: hashCount + 1)
    }

    /// The keys that begin with a prefix, from the first inclusive to the second exclusive; nil for
    /// no end.
    static func bounds(_ prefix: [UInt8]) -> (lower: [UInt8], upper: [UInt8]?) {
      let prefix = lower(prefix, limit: collectionLimit)
      guard let last = prefix.lastIndex(where: { $0 != 0xFF }) else { return (prefix, nil) }
      var end = Array(prefix[...last])
      end[last] += 1
      return (prefix, end)
    }
  }
#endif
