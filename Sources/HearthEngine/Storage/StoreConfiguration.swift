internal import LMDB

/// How a file is opened, in the engine's terms. `EmbeddedBackend.Settings` fills it.
struct StoreConfiguration: Sendable {
  var isReadOnly = false
  var durability = Durability.full
  /// Address space to reserve, not disk. Grown by itself when the data outgrows it.
  var mapSizeBytes = 64 << 30
  var allowsRemoteFileSystem = false
  /// Opening reads every page of the file first, without mapping it.
  var validatesPages = false
  /// Verifies a document's checksum also where it is decoded in place, or is about to be replaced; where it
  /// is copied out that is always done.
  var verifiesChecksumsOnRead = false
  /// The change log keeps the smaller of these two.
  var changeLogAge = Duration.seconds(3600)
  var changeLogBytes = 64 << 20
  /// How often documents are looked for that have expired; nil for never.
  var expirySweepInterval: Duration? = .seconds(60)
  /// How many threads one long scan, or the decoding of many results, may take; 1 for the caller's alone.
  var scanThreads = StoreConfiguration.defaultScanThreads
  /// The version of the format; tests make up later ones.
  var format = FileFormat.current
  /// Holds indexes against documents, for checks of the whole file: is told what is wrong, and gives the
  /// number of entries. The floor of indexes has it.
  var indexCheck: (@Sendable (StoreSnapshot, @escaping (String) -> Void) throws -> Int)?
  /// Makes and builds every index that the file's configuration asks for, where nobody else has the file
  /// open. The floor of indexes has it.
  var indexBuild: (@Sendable (Store) throws -> Void)?
  /// LMDB's longest key; tests use a tiny one, so that most keys are cut.
  var keyLimit = KeyLimit.standard
  /// The wall clock. Only the writer looks at it; see `StoreState.lastCommitTime`.
  var now: @Sendable () -> Instant = Instant.now
  /// Test modes of the floor below.
  var poisonsBorrowedBytes = false
  var faultInjector: (@Sendable (StorageCall) -> Int32)?
}

extension StoreConfiguration {
  /// As many as there are processors, and no more than four.
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
