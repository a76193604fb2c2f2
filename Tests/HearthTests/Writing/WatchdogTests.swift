import Foundation
import Logging
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Whoever holds the writer is named while it does, and what waits is counted.
@Suite struct WatchdogTests {
  @Test func `a closure that does not return is named, and the queue behind it is sampled`()
    async throws
  {
    let lines = LogRecorder()
    let fixture = try StoreFixture()
    let writer = Writer(fixture.store, logger: Logger(label: "test") { _ in lines })
    let samples = Guarded<[WriterSample]>([])
    writer.sample { sample in samples.withLock { $0.append(sample) } }
    let go = DispatchSemaphore(value: 0)
    let isRunning = DispatchSemaphore(value: 0)
    let place = CallSite(file: #fileID, line: 42)
    let closure = Task {
      try await writer.perform(from: place) { _ in
        isRunning.signal()
        go.wait()
      }
    }
    await onThread { isRunning.wait() }
    for number in 0..<7 {
      writer.submit([try fixture.set("books/\(number)", ("n", .integer(1)))]) { _ in }
    }
    let closing = Task { await onThread { writer.close() } }
    // Where it takes long to get here, only a later line has them all.
    try await eventually {
      let metadata = lines.metadata(ofLineWith: "closure has not returned")
      return metadata?["waitingRequests"] == "7" && metadata?["closing"] == "true"
    }
    let metadata = try #require(lines.metadata(ofLineWith: "closure has not returned"))
    #expect(metadata["closure"] == "\(place)")
    #expect(metadata["waitingRequests"] == "7")
    #expect(metadata["closing"] == "true")
    #expect(metadata["database"] == "\(fixture.store.path)")
    let sample = try #require(samples.withLock { $0.last { $0.busy > .seconds(1) } })
    #expect(sample.waitingRequests == 7)
    #expect(sample.waitingBytes > 0)
    go.signal()
    _ = try await closure.value
    await closing.value
  }

  @Test func `waiting for the file's lock names the process that holds it`() async throws {
    let lines = LogRecorder()
    let fixture = try StoreFixture()
    let writer = Writer(fixture.store, logger: Logger(label: "test") { _ in lines })
    let (isHeld, go) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let thread = Thread {
      let writing = try? fixture.store.environment.beginWrite()
      isHeld.signal()
      go.wait()
      writing?.abort()
      isHeld.signal()
    }
    thread.start()
    await onThread { isHeld.wait() }
    #expect(fixture.store.environment.writingProcess == getpid())
    writer.submit([try fixture.set("books/a", ("n", .integer(1)))]) { _ in }
    try await eventually { lines.metadata(ofLineWith: "another thread of this process") != nil }
    go.signal()
    await onThread { isHeld.wait() }
    await writer.drain()
    #expect(fixture.store.environment.writingProcess == nil)
    writer.close()
  }

  @Test func `a reminder comes after a second, and ever more rarely`() {
    var reminder = Reminder()
    let began = ContinuousClock.now
    let seconds = (0..<300).filter { second in
      reminder.isDue(began, now: began + .seconds(second)) != nil
    }
    #expect(seconds == [1, 4, 16, 64, 256])
    #expect(reminder.isDue(nil, now: began + .seconds(1000)) == nil)
    let again = began + .seconds(1000)
    #expect(reminder.isDue(again, now: again + .seconds(1)) == .seconds(1))
  }

  private func onThread(_ body: @escaping @Sendable () -> Void) async {
    _ = try? await onBlockingThread(body)
  }
}
