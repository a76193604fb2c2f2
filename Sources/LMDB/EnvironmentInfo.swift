import CLMDB
import Glibc

/// The state of an environment and its file.
public struct EnvironmentInfo: Sendable, Hashable {
  /// The size of the map in this process, in bytes: the largest size that the file can have.
  public var mapSizeBytes: Int
  /// Pages 0...lastPage were used so far; some of them may be free.
  public var lastPage: Int
  /// The size of a page in bytes, 4,096 on most systems.
  public var pageSizeBytes: Int
  /// The size of the file in bytes, with free pages.
  public var fileSizeBytes: Int
  /// The number of the last commit.
  public var lastTransactionID: Int
  /// The number of reader slots of the file, for all processes.
  public var maximumReaders: Int
  /// Slots with a running read transaction, in all processes.
  public var readersInUse: Int
  /// How many commits the oldest running read is behind. The pages that these commits freed cannot
  /// be reused yet.
  public var oldestReaderLag: Int
}

/// The counts of a table's tree.
public struct TableStatistics: Sendable, Hashable {
  /// The number of entries in the table.
  public var entries: Int
  /// The number of levels from the root to the leaves. 0 for an empty table, 1 if the root is a
  /// leaf.
  public var depth: Int
  /// The number of pages that only lead to other pages.
  public var branchPages: Int
  /// The number of pages with entries.
  public var leafPages: Int
  /// The number of pages with values that are too large for a leaf.
  public var overflowPages: Int

  /// The number of all pages.
  public var pages: Int { branchPages + leafPages + overflowPages }

  init(_ raw: MDB_stat) {
    entries = raw.ms_entries
    depth = Int(raw.ms_depth)
    branchPages = raw.ms_branch_pages
    leafPages = raw.ms_leaf_pages
    overflowPages = raw.ms_overflow_pages
  }
}

extension Environment {
  /// The current state of the environment and its file.
  public var info: EnvironmentInfo {
    get throws(LMDBError) {
      try visiting("info") { (handle) throws(LMDBError) in
        var raw = MDB_envinfo()
        var statistics = MDB_stat()
        var code = mdb_env_info(handle, &raw)
        if code == MDB_SUCCESS { code = mdb_env_stat(handle, &statistics) }
        var descriptor: Int32 = -1
        if code == MDB_SUCCESS { code = mdb_env_get_fd(handle, &descriptor) }
        guard code == MDB_SUCCESS else { throw self.failure(code, "info") }
        var file = stat()
        guard fstat(descriptor, &file) == 0 else { throw self.failure(errno, "info") }
        let readers = ReaderList.snapshots(handle)
        let lag = readers.min().map { max(0, raw.me_last_txnid - $0) } ?? 0
        return EnvironmentInfo(
          mapSizeBytes: raw.me_mapsize, lastPage: raw.me_last_pgno,
          pageSizeBytes: Int(statistics.ms_psize), fileSizeBytes: Int(file.st_size),
          lastTransactionID: raw.me_last_txnid, maximumReaders: Int(raw.me_maxreaders),
          readersInUse: readers.count, oldestReaderLag: lag)
      }
    }
  }
}

/// LMDB lists its readers only as lines of text: `pid thread txnid`, or `-` for an idle one.
enum ReaderList {
  /// The number of the last commit that each running read sees.
  static func snapshots(_ handle: OpaquePointer) -> [Int] {
    var text = ""
    withUnsafeMutablePointer(to: &text) { text in
      _ = mdb_reader_list(
        handle,
        { line, context in
          guard let line, let context else { return 0 }
          context.assumingMemoryBound(to: String.self).pointee += String(cString: line)
          return 0
        }, text)
    }
    return text.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      return words.count == 3 ? Int(words[2]) : nil
    }
  }
}
