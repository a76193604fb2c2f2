import Glibc
internal import LMDB

/// How a file is opened. The public API fills it from `FirestoreSettings`.
package struct StoreConfiguration: Sendable {
  /// The failures that an acknowledged write survives; see LMDB's.
  package enum Durability: Sendable {
    case full, lastCommitMayBeLost, unsafeWithoutFlushing
  }

  package var isReadOnly = false
  package var durability = Durability.full
  /// The address space to reserve, not disk space. Grows automatically with the data.
  package var mapSizeBytes = 64 << 30
  package var allowsRemoteFileSystem = false
  /// Opening first reads every page of the file, without mapping it.
  package var validatesPages = false
  /// Verifies a document's checksum also when it is decoded in place, or is about to be replaced.
  /// Copying a document out always verifies it.
  package var verifiesChecksumsOnRead = false
  /// Limits of the change log, unless the file has its own.
  package var retention = ChangeLogRetention(age: .seconds(3600), limitBytes: 64 << 20)
  /// How often to look for expired documents; nil for never.
  package var ttlSweepInterval: Duration? = .seconds(60)
  /// How many threads one long scan, or the decoding of many results, may use; 1 for the caller's
  /// thread only.
  package var scanThreads = StoreConfiguration.defaultScanThreads
  /// The version of the format; tests define later ones.
  var format = FileFormat.current
  /// LMDB's longest key; tests use a tiny one, so that most keys are truncated.
  var keyLimit = KeyLimit.standard
  /// The wall clock. Only the writer reads it; see `StoreState.lastCommitTime`.
  package var now: @Sendable () -> Instant = Instant.now
  /// The times that commits may get.
  package var commitTime = CommitTime()
  /// Test modes of the LMDB layer.
  var poisonsBorrowedBytes = false
  var faultInjector: (@Sendable (StorageCall) -> Int32)?

  package init() {}
}

extension StoreConfiguration {
  /// The number of processors, at most four.
  package static let defaultScanThreads = max(1, min(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
}

extension Instant {
  @Sendable static func now() -> Instant {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}
