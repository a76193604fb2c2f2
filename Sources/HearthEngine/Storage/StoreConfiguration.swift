internal import LMDB

/// How a file is opened. `EmbeddedBackend.Settings` fills it.
struct StoreConfiguration: Sendable {
  var isReadOnly = false
  var durability = Durability.full
  /// The address space to reserve, not disk space. Grows automatically with the data.
  var mapSizeBytes = 64 << 30
  var allowsRemoteFileSystem = false
  /// Opening first reads every page of the file, without mapping it.
  var validatesPages = false
  /// Verifies a document's checksum also when it is decoded in place, or is about to be replaced.
  /// Copying a document out always verifies it.
  var verifiesChecksumsOnRead = false
  /// Limits of the change log, unless the file has its own; see `ChangeLogRetention`.
  var changeLogAge = Duration.seconds(3600)
  var changeLogBytes = 64 << 20
  /// How often to look for expired documents; nil for never.
  var ttlSweepInterval: Duration? = .seconds(60)
  /// How many threads one long scan, or the decoding of many results, may use; 1 for the caller's
  /// thread only.
  var scanThreads = StoreConfiguration.defaultScanThreads
  /// The version of the format; tests define later ones.
  var format = FileFormat.current
  /// LMDB's longest key; tests use a tiny one, so that most keys are truncated.
  var keyLimit = KeyLimit.standard
  /// The wall clock. Only the writer reads it; see `StoreState.lastCommitTime`.
  var now: @Sendable () -> Instant = Instant.now
  /// The times that commits may get.
  var commitTime = CommitTime()
  /// Test modes of the LMDB layer.
  var poisonsBorrowedBytes = false
  var faultInjector: (@Sendable (StorageCall) -> Int32)?
}

extension StoreConfiguration {
  var retention: ChangeLogRetention {
    ChangeLogRetention(age: changeLogAge, limitBytes: changeLogBytes)
  }

  /// The number of processors, at most four.
  static let defaultScanThreads = max(1, min(4, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))))
}

extension Instant {
  @Sendable static func now() -> Instant {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Instant(microseconds: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif
