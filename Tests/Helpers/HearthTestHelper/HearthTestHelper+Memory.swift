import Foundation
import Hearth

extension HearthTestHelper {
  /// `memory - return|exit`: opens a database in memory, reads a document with each line of input, and ends
  /// without terminating the database when there is no more.
  func useMemory() async throws {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings()
    let db = Firestore.firestore(database: "memory")
    db.settings = settings
    let document = db.document("a/b")
    try await document.setData(["n": 7])
    Self.say("open")
    while let line = readLine(), line != "end" {
      Self.say("\(try await document.getDocument()["n"] as? Int ?? 0)")
    }
    if arguments.first == "exit" { exit(0) }
  }
}
