internal import LMDB

extension Store {
  /// Runs `body` in a write transaction of its own and commits it.
  ///
  /// For what is no request of a user: it must be short, for the writer waits meanwhile. `body` runs again
  /// if the map had to grow. Throws what it throws, with nothing done, and `Status` for failures below.
  func write<Result>(
    _ body: (inout WriteTransaction) throws -> Result
  ) throws -> Result {
    var growths = 0
    while true {
      do {
        return try commit(body)
      } catch let error as LMDBError {
        guard error == .mapFull, growths < 40 else { throw Status(writing: error) }
      }
      growths += 1
      try grow()
    }
  }

  private func commit<Result>(
    _ body: (inout WriteTransaction) throws -> Result
  ) throws -> Result {
    var transaction = try beginWriting()
    let result = try body(&transaction)
    try transaction.commit()
    return result
  }

  private func grow() throws {
    do {
      try environment.grow(toAtLeast: environment.info.mapSizeBytes * 2)
    } catch {
      throw Status(writing: error)
    }
  }

  /// After a commit whose flush failed the environment is opened anew first.
  func beginWriting() throws(LMDBError) -> WriteTransaction {
    do {
      return try environment.beginWrite()
    } catch .needsReopen {
      try environment.reopen()
      return try environment.beginWrite()
    }
  }
}
