import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct LoadBundleTaskTests {
  private final class Log: Sendable {
    let entries = Guarded<[String]>([])
    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
  }

  private func progress(_ documents: Int, _ state: LoadBundleTaskState) -> LoadBundleTaskProgress {
    LoadBundleTaskProgress(
      documentsLoaded: documents, totalDocuments: 2, bytesLoaded: documents * 10, totalBytes: 20,
      state: state)
  }

  @Test func `observers are told in order until they are removed`() {
    let queue = DispatchQueue(label: "test")
    let task = LoadBundleTask(queue: queue)
    let log = Log()
    let first = task.addObserver { log.add("first \($0.documentsLoaded)") }
    task.addObserver { log.add("second \($0.documentsLoaded)") }
    task.report(progress(1, .inProgress))
    queue.sync {}
    task.removeObserverWith(handle: first)
    task.report(progress(2, .success))
    queue.sync {}
    task.removeAllObservers()
    task.report(progress(3, .success))
    queue.sync {}
    #expect(log.entries.withLock { $0 } == ["first 1", "second 1", "second 2"])
  }

  @Test func `an observer that comes late is told the latest progress`() {
    let queue = DispatchQueue(label: "test")
    let task = LoadBundleTask(queue: queue)
    task.report(progress(2, .success))
    let log = Log()
    task.addObserver { log.add("late \($0.documentsLoaded)") }
    queue.sync {}
    #expect(log.entries.withLock { $0 } == ["late 2"])
  }

  @Test func `an observer may remove itself`() {
    let queue = DispatchQueue(label: "test")
    let task = LoadBundleTask(queue: queue)
    let log = Log()
    task.addObserver { _ in
      log.add("once")
      task.removeAllObservers()
    }
    task.report(progress(1, .inProgress))
    task.report(progress(2, .success))
    queue.sync {}
    #expect(log.entries.withLock { $0 } == ["once"])
  }

  @Test func `progress is equal by what it says`() {
    #expect(progress(1, .inProgress) == progress(1, .inProgress))
    #expect(progress(1, .inProgress).hash == progress(1, .inProgress).hash)
    #expect(progress(1, .inProgress) != progress(1, .success))
    #expect(progress(1, .inProgress) != progress(2, .inProgress))
    #expect(!progress(1, .success).isEqual("progress"))
  }
}
