extension IndexedBackend {
  /// Replaces the declared indexes by those of a `firestore.indexes.json`, with a file or without.
  package func declareOnly(thoseIn json: String) async throws {
    if let file = self as? any FileBackend { return try await file.declare(onlyThoseIn: json) }
    let wanted = try IndexConfiguration(json: json).definitions
    let kept = Set(wanted.map(\.stored))
    let present = try await onBlockingThread { try self.indexList() }.map(\.definition)
    if !wanted.isEmpty { try await declare(wanted) }
    let dropped = present.filter { !kept.contains($0.stored) }
    if !dropped.isEmpty { try await drop(dropped) }
  }
}
