/// Declared indexes, with unique ones and references: after the documents, so that a rule never
/// meets half of them.
extension DocumentCopy {
  /// Declares in the target what is declared in the source and missing, and waits until it is built.
  /// Indexes that the source has learned are not copied.
  ///
  /// Throws `failedPrecondition` if a constraint is not valid in the target and is in the source.
  package func copyIndexes() async throws {
    let declared = try await list(of: source).filter { !$0.isLearned && $0.state != .dropping }
    let present = Set(try await list(of: target).map(\.definition.stored))
    let missing = declared.map(\.definition).filter { !present.contains($0.stored) }
    if !missing.isEmpty { try await target.declare(missing) }
    do {
      try await target.waitForIndexes()
    } catch let status as Status where status.code == .failedPrecondition {
      let invalid = declared.filter(\.isInvalid).map(\.definition.stored)
      let faults = try await list(of: target).filter(\.isInvalid).map(\.definition.stored)
      // It was not valid in the source either.
      guard Set(faults).isSubset(of: invalid) else { throw status }
    }
  }

  private func list(of backend: any IndexedBackend) async throws -> [IndexInfo] {
    try await onBlockingThread { try backend.indexList() }
  }
}

extension IndexInfo {
  fileprivate var isInvalid: Bool { if case .invalid = state { true } else { false } }
}
