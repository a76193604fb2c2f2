#if Service
  import CoreMetrics
  import Foundation
  import Hearth
  import HearthService
  import Logging
  import MetricsTestKit
  import ServiceLifecycle
  import TestSupport
  import Testing

  @Suite struct FirestoreServiceTests {
    private let folder = TemporaryFolder()
    private var path: String { folder.path + "/books.hearth" }

    @Test func `a graceful shutdown does what was handed over, and closes the file`() async throws {
      let db = try Firestore.open(at: path)
      let group = ServiceGroup(
        services: [FirestoreService(db)], logger: Logger(label: "test"))
      let running = Task { try await group.run() }
      for index in 0..<300 {
        db.document("a/\(index)").setData(["n": index], completion: nil)
      }
      await group.triggerGracefulShutdown()
      try await running.value
      let error = await #expect(throws: NSError.self) {
        try await db.document("a/1").getDocument()
      }
      #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
      let again = try Firestore.open(at: path)
      #expect(again !== db)
      #expect(try await again.collection("a").getDocuments().count == 300)
      try await again.terminate()
    }

    @Test func `a cancelled service closes the file too`() async throws {
      let db = try Firestore.open(at: path)
      try await db.document("a/1").setData([:])
      let running = Task { try await FirestoreService(db).run() }
      running.cancel()
      try await running.value
      await #expect(throws: NSError.self) { try await db.document("a/1").getDocument() }
    }

    @Test func `metrics tell of commits, groups, failures, the queue and the file`() async throws {
      let metrics = TestMetrics()
      let db = try Firestore.open(at: path)
      try db.reportMetrics(dimensions: [("database", "test")], factory: metrics)
      db.unobservedWriteFailureHandler = { _ in }
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<50 {
          group.addTask { try? await db.document("a/\(index)").setData(["n": index]) }
        }
      }
      try? await db.document("missing/1").updateData(["n": 1])
      handOver { db.document("missing/2").updateData(["n": 1]) }
      try await db.waitForPendingWrites()
      // The file is looked at once a second.
      let dimensions = [("database", "test")]
      try await eventually {
        (try? metrics.expectMeter("hearth_file_bytes", dimensions).values.last) != nil
      }
      // Reports come behind acknowledgements: the last one is in when the writer is at an end.
      try await db.terminate()
      func total(_ name: String) -> Int64 { metrics.counterTotal(label: "hearth_\(name)") }
      let commits = total("commits")
      #expect((1...50).contains(commits))
      // Two of them failed; the drain makes none.
      #expect(total("writes") == 52 && total("writes_failed") == 2)
      #expect(total("failures_unobserved") == 1)
      let sizes = try metrics.expectRecorder("hearth_group_size", dimensions).values
      #expect(sizes.count == Int(commits) && sizes.reduce(0, +) >= 50)
      let bytes = try metrics.expectRecorder("hearth_commit_bytes", dimensions).values
      #expect(bytes.allSatisfy { $0 > 0 })
      let flushes = try metrics.expectTimer("hearth_flush", dimensions).values
      #expect(flushes.count == Int(commits) && flushes.allSatisfy { $0 > 0 })
      let use = try #require(
        try metrics.expectMeter("hearth_map_use", dimensions).values.first)
      #expect(use > 0 && use < 1)
      #expect(
        try #require(metrics.expectMeter("hearth_file_bytes", dimensions).values.first) > 0)
      #expect(try metrics.expectMeter("hearth_oldest_reader_lag", dimensions).values.last == 0)
    }

    @Test func `the queue is sampled while a closure holds up the writer`() async throws {
      let metrics = TestMetrics()
      let db = try Firestore.open(at: path)
      try db.reportMetrics(factory: metrics)
      let (isRunning, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let closure = Task {
        try await db.write { _ in
          isRunning.signal()
          go.wait()
        }
      }
      await withCheckedContinuation { continuation in
        Thread.detachNewThread {
          isRunning.wait()
          continuation.resume()
        }
      }
      for index in 0..<7 { handOver { db.document("a/\(index)").setData(["n": index]) } }
      func last(_ name: String) -> Double {
        (try? metrics.expectMeter("hearth_\(name)").values.last) ?? 0
      }
      try await eventually { last("queue_requests") == 7 && last("writer_busy_seconds") >= 1 }
      #expect(last("queue_bytes") > 0)
      go.signal()
      try await closure.value
      try await eventually { last("queue_requests") == 0 && last("writer_busy_seconds") == 0 }
      #expect(last("queue_bytes") == 0)
      try await db.terminate()
    }

    private func handOver(_ body: () -> Void) { body() }
  }
#endif
