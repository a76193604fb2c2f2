#if Service
  import CoreMetrics
  import Hearth
  import Synchronization

  extension Firestore {
    /// Tells the metrics system what the database does, until it is closed.
    ///
    ///     try db.reportMetrics(dimensions: [("database", "books")])
    ///
    /// | Label | Kind | What it tells |
    /// |---|---|---|
    /// | `hearth_commits` | counter | durable commits |
    /// | `hearth_writes`, `hearth_writes_failed` | counters | requests, and those of them that failed |
    /// | `hearth_failures_unobserved` | counter | failures that nobody awaited |
    /// | `hearth_group_size` | recorder | requests in a commit |
    /// | `hearth_commit_bytes` | recorder | bytes put by a commit, about |
    /// | `hearth_flush` | timer | what a commit takes to be written and flushed |
    /// | `hearth_queue_bytes`, `hearth_queue_requests` | meters | what waits for the writer |
    /// | `hearth_writer_busy_seconds` | meter | how long the writer has been at one step; 0 if idle |
    /// | `hearth_oldest_reader_lag` | meter | commits the oldest running read is behind |
    /// | `hearth_map_use`, `hearth_file_bytes` | meters | how full the map is, 0 to 1; the file's size |
    ///
    /// The queue and the writer are sampled once a second, also while the writer is held up; the last two rows
    /// are looked at with commits, once a second at most. Throws as opening does.
    public func reportMetrics(
      label: String = "hearth", dimensions: [(String, String)] = [],
      factory: any MetricsFactory = MetricsSystem.factory
    ) throws {
      let meters = Meters(label, dimensions, factory)
      try observeWrites { figures in
        switch figures {
        case .sample(let sample): meters.note(sample)
        case .group(let report, let storage):
          meters.note(report)
          if meters.isDue(), let use = storage() { meters.note(use) }
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
    private let queueBytes, queueRequests, writerBusy, readerLag, mapUse, fileBytes: Meter
    private let lastLook = Mutex<ContinuousClock.Instant?>(nil)

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

    func note(_ use: StorageUse) {
      readerLag.set(use.oldestReaderLag)
      mapUse.set(Double(use.usedBytes) / Double(max(1, use.mapBytes)))
      fileBytes.set(use.fileBytes)
    }

    func isDue() -> Bool {
      lastLook.withLock { last in
        let now = ContinuousClock.now
        if let last, now - last < .seconds(1) { return false }
        last = now
        return true
      }
    }
  }
#endif
