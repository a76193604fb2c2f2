import Foundation
import Hearth
import Synchronization

extension HearthTestHelper {
  /// From one line of input to the next, writes documents that indexes and rules of expiry are about. Says `writing`
  /// after the first, and at the end how many there are: at most 2,000, written again and again.
  func followDefinitions() async throws {
    let db = try open(.unsafeWithoutFlushing)
    Self.say("ready")
    _ = readLine()
    let stop = Stop()
    Thread.detachNewThread {
      _ = readLine()
      stop.isAsked.store(true, ordering: .relaxed)
    }
    let time = Timestamp(seconds: 4_000_000_000, nanoseconds: 0)
    let limit = 2000
    var written = 0
    while !stop.isAsked.load(ordering: .relaxed) {
      try await Task.sleep(for: .milliseconds(10))
      // The file grows while somebody checks it, and the check takes the longer. Where that is slow, as under
      // a sanitizer, it would never catch up.
      if written == 10_000 { continue }
      for _ in 0..<5 {
        try await db.document("items/\(written % limit)").setData([
          "n": written, "tags": ["a", "b\(written % 3)"], "until": time, "later": time,
        ])
        written += 1
        if written == 1 { Self.say("writing") }
      }
      // Now and then one is written again, and leaves its place in all of them.
      try await db.document("items/\(written / 2 % limit)").updateData(["n": -written])
    }
    try await db.terminate()
    Self.say("wrote \(min(written, limit))")
  }

  /// <milliseconds>: sweeps that often until it is killed or its input ends.
  func sweep() async throws {
    let settings = FirestoreSettings()
    settings.ttlSweepInterval = .milliseconds(Int64(number(0)))
    let db = try Firestore.open(at: path, settings: settings)
    _ = try await db.ttl.policies()
    Self.say("ready")
    _ = readLine()
    try await db.terminate()
  }
}

private final class Stop: Sendable {
  let isAsked = Atomic<Bool>(false)
}
