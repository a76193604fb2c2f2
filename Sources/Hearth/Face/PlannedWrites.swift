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

  mutating func add(_ write: (inout PlannedWrites) throws -> Void) {
    do {
      try write(&self)
    } catch {
      note(error as? Status ?? Status(.unknown, "The write failed.", cause: error))
    }
  }

  mutating func add(_ mutation: Mutation) throws(Status) {
    try mutation.check()
    mutations.append(mutation)
  }
}
