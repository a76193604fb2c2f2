import Foundation
import Hearth

extension HearthTestHelper {
  /// <milliseconds>: after a line of input, writes documents that indexes and rules of expiry are about, and
  /// says how many.
  func followDefinitions() async throws {
    let db = try open(.unsafeWithoutFlushing)
    Self.say("ready")
    _ = readLine()
    let end = ContinuousClock.now + .milliseconds(number(0))
    let time = Timestamp(seconds: 4_000_000_000, nanoseconds: 0)
    var written = 0
    while ContinuousClock.now < end {
      for _ in 0..<5 {
        try await db.document("items/\(written)").setData([
          "n": written, "tags": ["a", "b\(written % 3)"], "until": time, "later": time,
        ])
        written += 1
      }
      // Now and then one is written again, and leaves its place in all of them.
      try await db.document("items/\(written / 2)").updateData(["n": -written])
      try await Task.sleep(for: .milliseconds(1))
    }
    try await db.terminate()
    Self.say("wrote \(written)")
  }

  /// <milliseconds>: sweeps that often until it is killed.
  func sweep() async throws {
    let settings = FirestoreSettings()
    settings.expirySweepInterval = .milliseconds(Int64(number(0)))
    let db = try Firestore.open(at: path, settings: settings)
    _ = try await db.expiryFields()
    Self.say("ready")
    while true { try await Task.sleep(for: .seconds(1)) }
  }
}
