import CStorageSpy
import Foundation
import Hearth

/// What a test finds again after a crash; it knows the same.
enum Story {
  /// Depends on both, so that a document that is not what was written does not pass.
  static func text(_ task: Int, _ step: Int) -> String {
    String(repeating: "\(task)/\(step) ", count: 1 + (task &* 7 &+ step &* 13) % 60)
  }
}

extension HearthTestHelper {
  /// <tasks> <first>: each task counts on from what is stored, and says `task step` when a step is
  /// acknowledged.
  ///
  /// Odd tasks set one document. Even ones set three and delete one in one request.
  func writeUntilKilled() async throws {
    let db = try open()
    let (tasks, first) = (number(0), number(1))
    Self.say("ready")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in first..<(first + tasks) {
        group.addTask {
          let counter = try await db.document("counters/\(task)").getDocument()
          var step = (counter["step"] as? Int ?? 0) + 1
          while !Task.isCancelled {
            try await Self.take(step, of: task, in: db)
            Self.say("\(task) \(step)")
            step += 1
          }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func take(_ step: Int, of task: Int, in db: Firestore) async throws {
    let counter = db.document("counters/\(task)")
    let data: [String: Any] = ["step": step, "text": Story.text(task, step)]
    if task % 2 == 1 { return try await counter.setData(data) }
    let batch = db.batch()
    batch.setData(data, forDocument: counter)
    batch.setData(data, forDocument: db.document("twins/\(task)"))
    batch.setData(data, forDocument: db.document("tasks/\(task)/steps/\(step)"))
    batch.deleteDocument(db.document("tasks/\(task)/steps/\(step - 2)"))
    try await batch.commit()
  }

  /// <killed|halfway|afterwards|stopped> <call>: twenty documents in one request, and the fate at that storage
  /// call of it. Says `acknowledged` if it lives.
  func meetFate() async throws {
    let db = try open()
    let step = try await db.document("ring/0").getDocument()["step"] as? Int ?? 0
    let batch = db.batch()
    for index in 0..<20 {
      batch.setData(
        ["step": step + 1, "text": Story.text(index, step + 1)],
        forDocument: db.document("ring/\(index)"))
    }
    let fates = [
      "killed": spy_killed, "halfway": spy_killed_halfway, "afterwards": spy_killed_afterwards,
      "stopped": spy_stopped,
    ]
    guard let fate = fates[arguments[0]] else { exit(64) }
    Self.say("ready")
    spy_doom(fate, UInt64(number(1)))
    try await batch.commit()
    Self.say("acknowledged")
    try await db.terminate()
  }

  /// <compact|backup|compactBackup> <killed|halfway|afterwards> <call> [<target>]: the fate comes at that
  /// storage call. Says `done` if it lives.
  func copy() async throws {
    let fates = [
      "killed": spy_killed, "halfway": spy_killed_halfway, "afterwards": spy_killed_afterwards,
    ]
    guard let fate = fates[arguments[1]] else { exit(64) }
    if arguments[0] == "compact" {
      spy_doom(fate, UInt64(number(2)))
      try await FirestoreFile(at: path).compact()
    } else {
      let db = try open()
      spy_doom(fate, UInt64(number(2)))
      try await db.maintenance.backup(
        to: arguments[3], compacting: arguments[0] == "compactBackup", replacing: true)
    }
    Self.say("done")
    // Not closed: nothing may be left to do.
    exit(0)
  }
}
