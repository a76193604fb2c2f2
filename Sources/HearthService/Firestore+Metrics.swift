#if Service
  import CoreMetrics
  import Dispatch
  import Hearth

  extension Firestore {
    /// Reports metrics of this database until it is closed.
    ///
    ///     try db.reportMetrics(dimensions: [("database", "books")])
    ///
    /// | Label | Kind | Value |
    /// |---|---|---|
    /// | `hearth_commits` | counter | durable commits |
    /// | `hearth_writes`, `hearth_writes_failed` | counters | write requests; failed ones |
    /// | `hearth_failures_unobserved` | counter | failed writes whose result no caller awaited |
    /// | `hearth_group_size` | recorder | requests in a commit |
    /// | `hearth_commit_bytes` | recorder | bytes written by a commit, approximately |
    /// | `hearth_flush` | timer | time to write and flush a commit |
    /// | `hearth_queue_bytes`, `hearth_queue_requests` | meters | writes that wait for the writer |
    /// | `hearth_writer_busy_seconds` | meter | time in the current step; 0 if idle |
    /// | `hearth_oldest_reader_lag` | meter | commits by which the oldest running read is behind |
    /// | `hearth_map_use`, `hearth_file_bytes` | meters | used part of the map, 0 to 1; file size |
    ///
    /// The meters are sampled once a second, also while the writer is blocked.
    ///
    /// Opens the database if this is its first use, and throws the errors of
    /// `Firestore.open(at:settings:)`. Throws `failedPrecondition` after `terminate()`,
    /// `unimplemented` if the database is not a file.
    ///
    /// - Parameters:
    ///   - label: The prefix of all labels.
    ///   - dimensions: Dimensions to add to all metrics.
    ///   - factory: Creates the metrics; by default the system's.
    public func reportMetrics(
      label: String = "hearth", dimensions: [(String, String)] = [],
      factory: any MetricsFactory = MetricsSystem.factory
    ) throws {
      let meters = Meters(label, dimensions, factory)
      try observeWrites { figures in
        switch figures {
        case .group(let report): meters.note(report)
        case .sample(let sample, let storage):
          meters.note(sample)
          meters.look(storage)
        }
      } onLostFailure: {
        meters.unobserved.increment()
      }
    }
  }

  private final class Meters: Sendable {
    private let commits, writes, failed: Counter
    let unobserved: Counter
    private let groupSize, commitBytes: Recorder
    private let flush: CoreMetrics.Timer
    private let isLooking = Guarded(false)
    private let queueBytes, queueRequests, writerBusy, readerLag, mapUse, fileBytes: Meter

    init(_ label: String, _ dimensions: [(String, String)], _ factory: any MetricsFactory) {
      func counter(_ name: String) -> Counter {
        Counter(label: "\(label)_\(name)", dimensions: dimensions, factory: factory)
      }
      func recorder(_ name: String) -> Recorder {
        Recorder(
          label: "\(label)_\(name)", dimensions: dimensions, aggregate: true, factory: factory)
      }
      func meter(_ name: String) -> Meter {
        Meter(label: "\(label)_\(name)", dimensions: dimensions, factory: factory)
      }
      commits = counter("commits")
      writes = counter("writes")
      failed = counter("writes_failed")
      unobserved = counter("failures_unobserved")
      groupSize = recorder("group_size")
      commitBytes = recorder("commit_bytes")
      flush = Timer(label: "\(label)_flush", dimensions: dimensions, factory: factory)
      queueBytes = meter("queue_bytes")
      queueRequests = meter("queue_requests")
      writerBusy = meter("writer_busy_seconds")
      readerLag = meter("oldest_reader_lag")
      mapUse = meter("map_use")
      fileBytes = meter("file_bytes")
    }

    func note(_ report: WriterReport) {
      writes.increment(by: report.requests)
      if report.failures > 0 { failed.increment(by: report.failures) }
      guard report.isCommit else { return }
      commits.increment()
      groupSize.record(report.requests)
      commitBytes.record(report.bytes)
      flush.recordNanoseconds(Int64(report.flush / .nanoseconds(1)))
    }

    func note(_ sample: WriterSample) {
      queueBytes.set(sample.waitingBytes)
      queueRequests.set(sample.waitingRequests)
      writerBusy.set(sample.busy / .seconds(1))
    }

    /// Not on the caller's thread, which must not be blocked. Does nothing while the last look lasts.
    func look(_ storage: @escaping @Sendable () -> StorageUse?) {
      if isLooking.exchange(true) { return }
      DispatchQueue.global(qos: .utility).async { [self] in
        if let use = storage() { note(use) }
        isLooking.withLock { $0 = false }
      }
    }

    private func note(_ use: StorageUse) {
      readerLag.set(use.oldestReaderLag)
      mapUse.set(Double(use.usedBytes) / Double(max(1, use.mapBytes)))
      fileBytes.set(use.fileBytes)
    }
  }
#endif
