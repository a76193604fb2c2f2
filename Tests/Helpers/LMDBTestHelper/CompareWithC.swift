import CLMDB
import Glibc
import LMDB

extension LMDBTestHelper {
  /// Random gets through `read {}`, and as C would write them: renew, get, reset. Nanoseconds.
  static func compareWithC(_ path: String, rounds: Int) throws {
    let entries = 1000
    do {
      let environment = try open(path, durability: .unsafeNoSync)
      try put(0..<entries, environment, valueBytes: 100)
      environment.close()
    }
    for _ in 0..<8 {
      let swift = try measureSwift(path, entries, rounds)
      let c = measureC(path, entries, rounds)
      say("Swift \(swift) ns, C \(c) ns, ratio \(Double(swift) / Double(c))")
    }
  }

  private static func measureSwift(_ path: String, _ entries: Int, _ rounds: Int) throws -> Int {
    let environment = try open(path, durability: .unsafeNoSync)
    let table = environment.table("t")
    var sum = 0
    var state: UInt64 = 1
    let start = nanoseconds()
    for _ in 0..<rounds {
      state = state &* 6_364_136_223_846_793_005 &+ 1
      var key = ((state >> 33) % UInt64(entries)).bigEndian
      sum &+= try withUnsafeBytes(of: &key) { key in
        try environment.read { try $0.get(table, key)?.count ?? 0 }
      }
    }
    let end = nanoseconds()
    precondition(sum == rounds * 100)
    return (end - start) / rounds
  }

  private static func measureC(_ path: String, _ entries: Int, _ rounds: Int) -> Int {
    var environment: OpaquePointer?
    mdb_env_create(&environment)
    mdb_env_set_mapsize(environment, 64 << 30)
    mdb_env_set_maxdbs(environment, 1)
    let flags = UInt32(MDB_NOSUBDIR) | UInt32(MDB_NOTLS) | UInt32(MDB_NOSYNC)
    mdb_env_open(environment, path, flags, 0o600)
    var transaction: OpaquePointer?
    mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    var table: MDB_dbi = 0
    mdb_dbi_open(transaction, "t", 0, &table)
    mdb_txn_commit(transaction)
    mdb_txn_begin(environment, nil, UInt32(MDB_RDONLY), &transaction)
    mdb_txn_reset(transaction)
    var sum = 0
    var state: UInt64 = 1
    let start = nanoseconds()
    for _ in 0..<rounds {
      state = state &* 6_364_136_223_846_793_005 &+ 1
      var key = ((state >> 33) % UInt64(entries)).bigEndian
      withUnsafeMutableBytes(of: &key) { bytes in
        var rawKey = MDB_val(mv_size: 8, mv_data: bytes.baseAddress)
        var rawValue = MDB_val()
        mdb_txn_renew(transaction)
        mdb_get(transaction, table, &rawKey, &rawValue)
        sum &+= rawValue.mv_size
        mdb_txn_reset(transaction)
      }
    }
    let end = nanoseconds()
    precondition(sum == rounds * 100)
    mdb_txn_abort(transaction)
    mdb_env_close(environment)
    return (end - start) / rounds
  }

  private static func nanoseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
