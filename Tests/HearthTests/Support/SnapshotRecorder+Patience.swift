import HearthTesting

extension SnapshotRecorder {
  /// The one that the tests of this module call: the machine may be busier than users' are.
  func next() async throws -> Snapshot { try await next(timeout: .seconds(120)) }
}
