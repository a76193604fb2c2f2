/// The writes of a batch or a transaction before its commit, and the first error among them.
struct PlannedWrites {
  private(set) var mutations: [Mutation] = []
  private var validationError: Status?

  /// The writes, each of them checked. Throws the first error.
  func checked() throws(Status) -> [Mutation] {
    if let validationError { throw validationError }
    return mutations
  }

  mutating func note(_ status: Status) { validationError = validationError ?? status }

  /// Adds a write, or the error for which it cannot be made.
  mutating func add(_ write: () throws -> Mutation) {
    do {
      let mutation = try write()
      try mutation.check()
      mutations.append(mutation)
    } catch {
      note(Status(writingFailed: error))
    }
  }
}
