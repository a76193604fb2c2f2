/// The state of the file at one moment.
package struct StorageUse: Sendable {
  package var fileBytes: Int
  /// Up to the last page that was ever used.
  package var usedBytes: Int
  package var mapBytes: Int
  var readers: Int
  /// How many commits the oldest running read is behind.
  package var oldestReaderLag: Int
}

/// The outcome of a group.
package struct WriterReport: Sendable {
  package var requests = 0
  package var failures = 0
  /// Something was put, and is durable.
  package var isCommit = false
  /// Approximate number of bytes put.
  package var bytes = 0
  /// How long LMDB took to write and flush it.
  package var flush = Duration.zero
}

/// The state of the writer at one moment, even while it is blocked.
package struct WriterSample: Sendable {
  package var waitingRequests: Int
  package var waitingBytes: Int
  /// Duration of the current activity; zero if it is idle.
  package var busy: Duration
}
