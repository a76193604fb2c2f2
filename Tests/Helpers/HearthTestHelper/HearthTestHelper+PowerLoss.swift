import CStorageSpy
import Foundation
import Hearth

extension HearthTestHelper {
  /// <full|lastCommitMayBeLost|unsafeWithoutFlushing> <tasks> <steps of each> <tape>: takes down every
  /// write to the file, from the first on, with a mark for every acknowledgement (task, step).
  ///
  /// A step sets two documents that agree, adds one of any size, and deletes one, in one request.
  func tape() async throws {
    let durabilities: [String: FirestoreSettings.Durability] = [
      "full": .full, "lastCommitMayBeLost": .lastCommitMayBeLost,
      "unsafeWithoutFlushing": .unsafeWithoutFlushing,
    ]
    guard let durability = durabilities[arguments[0]] else { exit(64) }
    spy_tape(path)
    let db = try open(durability)
    let (tasks, steps) = (number(1), number(2))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for step in 1...steps {
            let batch = db.batch()
            let data: [String: Any] = ["step": step, "text": Story.text(task, step)]
            batch.setData(data, forDocument: db.document("counters/\(task)"))
            batch.setData(data, forDocument: db.document("twins/\(task)"))
            let large = String(repeating: "x", count: step % 7 == 0 ? 9000 : step % 50)
            batch.setData(
              ["large": large], forDocument: db.document("tasks/\(task)/steps/\(step)"))
            batch.deleteDocument(db.document("tasks/\(task)/steps/\(step - 3)"))
            try await batch.commit()
            spy_mark(UInt64(task), UInt64(step))
          }
        }
      }
      try await group.waitForAll()
    }
    // Closing flushes more; the tape ends before.
    guard spy_save_tape(arguments[3]) else { exit(74) }
    try await db.terminate()
    Self.say("taped")
  }
}
