import CStorageSpy
import Foundation
import Hearth

extension HearthTestHelper {
  /// <full|lastCommitMayBeLost|unsafeWithoutFlushing> <tasks> <writes of each>: looks for flushes
  /// between the handing over and the acknowledgement of each write. Says three numbers: writes,
  /// those with a flush of their data, and those with a flush of the commit's meta page after it.
  func countFlushes() async throws {
    let durabilities: [String: FirestoreSettings.Durability] = [
      "full": .full, "lastCommitMayBeLost": .lastCommitMayBeLost,
      "unsafeWithoutFlushing": .unsafeWithoutFlushing,
    ]
    guard let durability = durabilities[arguments[0]] else { exit(64) }
    let db = try open(durability)
    let (tasks, count) = (number(1), number(2))
    spy_watch()
    let writes = try await withThrowingTaskGroup(of: [(UInt64, UInt64)].self) { group in
      for task in 0..<tasks {
        group.addTask {
          var writes: [(handedOver: UInt64, acknowledged: UInt64)] = []
          for step in 0..<count {
            let handedOver = spy_stamp()
            try await db.document("flushed/\(task)-\(step)").setData(["step": step])
            writes.append((handedOver, spy_stamp()))
          }
          return writes
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    let events = recorded()
    let data = writes.count { write in
      events.contains { isDataFlush($0, in: write) }
    }
    let meta = writes.count { write in
      guard let flush = events.first(where: { isDataFlush($0, in: write) }) else { return false }
      return events.contains {
        $0.kind == spy_synchronous_write.rawValue && $0.began > flush.ended && $0.ended < write.1
      }
    }
    Self.say("\(writes.count) \(data) \(meta)")
    try await db.terminate()
  }

  private func isDataFlush(_ event: spy_event, in write: (UInt64, UInt64)) -> Bool {
    event.kind == spy_data_flush.rawValue && event.began > write.0 && event.ended < write.1
  }

  func recorded() -> [spy_event] {
    let capacity = 1 << 18
    return Array(unsafeUninitializedCapacity: capacity) { buffer, count in
      count = Int(spy_events(buffer.baseAddress, Int32(capacity)))
    }
  }
}
