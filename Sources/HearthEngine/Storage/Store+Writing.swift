internal import LMDB

extension Store {
  /// Runs `body` in a write transaction of its own and commits it.
  ///
  /// For internal work, not for users' requests. Must be short, because the writer waits meanwhile.
  /// Runs `body` again if the map had to grow. Throws what `body` throws, with nothing written, and
  /// `Status` for storage failures; the outcome of a commit that fails is unknown.
  func write<Result>(
    _ body: (inout WriteTransaction) throws -> Result
  ) throws -> Result {
    var growths = 0
    while true {
      do {
        return try commit(body)
      } catch let error as LMDBError {
        guard error == .mapFull, growths < Self.growthLimit else { throw Status(writing: error) }
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
    do {
      try transaction.commit()
    } catch {
      // Nothing was applied if the map is full; after any other failure that is unknown.
      if error == .mapFull { throw error }
      throw Status(committing: error)
    }
    return result
  }

  /// How often one commit may find the map full. A map that has doubled so often has used all address
  /// space.
  static let growthLimit = 40

  /// Doubles the map.
  func grow() throws(Status) {
    do {
      try environment.grow(toAtLeast: environment.info.mapSizeBytes * 2)
    } catch {
      throw Status(writing: error)
    }
  }

  /// Begins a write transaction. Throws `failedPrecondition` if another process has upgraded the
  /// file. Reopens the environment first if the flush of an earlier commit failed.
  func beginWriting() throws -> WriteTransaction {
    let transaction = try beginTransaction()
    try configuration.format.checkUnchanged(transaction.snapshot, tables)
    return transaction
  }

  private func beginTransaction() throws(LMDBError) -> WriteTransaction {
    do {
      return try environment.beginWrite()
    } catch .needsReopen {
      try environment.reopen()
      return try environment.beginWrite()
    }
  }
}
