import Foundation
import Hearth

extension HearthTestHelper {
  /// Follows the collection `work` until it is killed, and keeps what it makes of that in `kept/changes`
  /// and `kept/result`: each time with the token to go on from, in one write.
  func followUntilKilled() async throws {
    // Killed, it loses nothing that the system has.
    let db = try open(.unsafeWithoutFlushing)
    Self.say("ready")
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await followChanges(db) }
      group.addTask { try await followResult(db) }
      try await group.waitForAll()
    }
  }

  /// How many changes each document had, and a number that tells their order.
  private func followChanges(_ db: Firestore) async throws {
    let kept = db.document("kept/changes")
    let before = try await kept.getDocument()
    var counts = before["counts"] as? [String: Int] ?? [:]
    var order = before["order"] as? Int ?? 0
    let token = try (before["token"] as? Data).map(ChangeToken.init(bytes:))
    for try await change in db.changes(since: token) where change.document.parent.path == "work" {
      counts[change.document.documentID, default: 0] += 1
      let step = (change.after ?? change.before)?["step"] as? Int ?? 0
      guard change.after == nil || step > order else { throw Disorder() }
      order = max(order, step)
      let state: [String: Any] = ["counts": counts, "order": order, "token": change.token.bytes]
      try await db.write { try $0.setData(state, forDocument: kept) }
    }
  }

  /// The steps of the result in its order, by the changes alone.
  private func followResult(_ db: Firestore) async throws {
    let kept = db.document("kept/result")
    let before = try await kept.getDocument()
    var steps = before["steps"] as? [Int] ?? []
    let token = try (before["token"] as? Data).map(ChangeToken.init(bytes:))
    let query = db.collection("work").order(by: "step", descending: true).limit(to: 5)
    for try await snapshot in query.snapshots(resumingFrom: token) {
      if snapshot.isFullResync { steps = [] }
      for change in snapshot.documentChanges {
        if change.type != .added { steps.remove(at: Int(change.oldIndex)) }
        if change.type != .removed {
          steps.insert(change.document["step"] as? Int ?? 0, at: Int(change.newIndex))
        }
      }
      guard let token = snapshot.token else { throw Disorder() }
      let state: [String: Any] = ["steps": steps, "token": token.bytes]
      try await db.write { try $0.setData(state, forDocument: kept) }
    }
  }

  private struct Disorder: Error {}
}
