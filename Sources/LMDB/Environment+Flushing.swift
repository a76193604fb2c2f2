import CLMDB

extension Environment {
  /// Flushes the commits that a weaker `durability` has not flushed.
  public func sync() throws(LMDBError) {
    try visiting("sync") { (handle) throws(LMDBError) in
      try self.admit(.sync, "sync")
      let code = mdb_env_sync(handle, 1)
      guard code == MDB_SUCCESS else {
        if code > 0 { self.lock.refuseWriting() }
        throw self.failure(code, "sync")
      }
    }
  }
}
