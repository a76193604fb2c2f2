import Foundation
import Hearth

extension HearthTestHelper {
  /// <documents>: declares indexes, and changes the documents while they are built.
  func indexUntilKilled() async throws {
    let db = try open(.unsafeWithoutFlushing)
    try await db.indexes.declare(
      FirestoreIndex("items", .ascending("n")),
      FirestoreIndex("items", scope: .collectionGroup, .contains("tags"), .descending("n")))
    Self.say("ready")
    var step = 0
    while true {
      let batch = db.batch()
      for _ in 0..<20 {
        let document = db.document("items/\(Int.random(in: 0..<number(0)))")
        step += 1
        if step % 7 == 0 {
          batch.deleteDocument(document)
        } else {
          batch.setData(["n": step, "tags": ["a", "t\(step % 5)"]], forDocument: document)
        }
      }
      try await batch.commit()
    }
  }
}
