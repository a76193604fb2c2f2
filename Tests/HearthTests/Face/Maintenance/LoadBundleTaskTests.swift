import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct LoadBundleTaskTests {
  private final class Log: Sendable {
    let entries = Guarded<[String]>([])
    func add(_ entry: String) { entries.withLock { $0.append(entry) } }
  }

  @Test func `observers are told in order until they are removed`() {
    let queue = DispatchQueue(label: "test")
    let task = LoadBundleTask(queue: queue)
    let log = Log()
    queue.suspend()
    let first = task.addObserver { log.add("first \($0.state)") }
    task.addObserver { log.add("second \($0.state)") }
    task.addObserver { log.add("third \($0.state)") }
    task.removeObserverWith(handle: first)
    queue.resume()
    queue.sync {}
    queue.suspend()
    task.addObserver { log.add("late \($0.state)") }
    task.removeAllObservers()
    queue.resume()
    queue.sync {}
    #expect(log.entries.withLock { $0 } == ["second error", "third error"])
  }

  @Test func `an observer may remove itself`() {
    let queue = DispatchQueue(label: "test")
    let task = LoadBundleTask(queue: queue)
    let log = Log()
    queue.suspend()
    for _ in 0..<2 {
      task.addObserver { _ in
        log.add("once")
        task.removeAllObservers()
      }
    }
    queue.resume()
    queue.sync {}
    #expect(log.entries.withLock { $0 } == ["once"])
  }

  @Test func `the progress of a load is that of nothing`() {
    let progress = LoadBundleTaskProgress.refused
    #expect(progress.documentsLoaded == 0 && progress.totalDocuments == 0)
    #expect(progress.bytesLoaded == 0 && progress.totalBytes == 0)
    #expect(progress.state == .error)
  }
}
