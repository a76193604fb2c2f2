import Foundation
import Hearth

extension HearthTestHelper {
  /// `busy`, `writer` or `listener`: writes without pause, when asked, or only listens, while the file at its path
  /// is replaced. For each line `write <id>` writes that document and says what came of it; ends with a line `end`.
  func beReplaced() async throws {
    let db = try open()
    let isBusy = arguments.first == "busy"
    let registration = db.collection("after").addSnapshotListener { _, _ in }
    if isBusy {
      let name = "busy/\(getpid())"
      Task {
        var step = 0
        while true {
          try? await db.document("\(name)-\(step % 50)").setData(["step": step])
          step += 1
          try? await Task.sleep(for: .milliseconds(1))
        }
      }
    }
    Self.say("ready")
    while let line = readLine() {
      let words = line.split(separator: " ")
      guard words.count == 2 else { break }
      await Self.write(String(words[1]), to: db)
    }
    registration.remove()
    try await db.terminate()
    Self.say("ended")
  }

  /// Opens the file, writes documents with the given ids, and says what came of it.
  func writeOnce() async throws {
    let db = try open()
    for id in arguments { await Self.write(id, to: db) }
    try await db.terminate()
  }

  private static func write(_ id: String, to db: Firestore) async {
    do {
      try await db.document("after/\(id)").setData(["id": id])
      say("acknowledged")
    } catch {
      say("refused \((error as NSError).localizedDescription)")
    }
  }

  /// Restores <backup> to the path, again and again, until it is killed. Says `restored` after each time.
  func restoreUntilKilled() async throws {
    Self.say("ready")
    while true {
      _ = try await FirestoreFile(at: path).restore(from: arguments[0])
      Self.say("restored")
    }
  }
}
