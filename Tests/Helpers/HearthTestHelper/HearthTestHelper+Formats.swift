import Foundation
import Hearth

extension HearthTestHelper {
  /// Writes documents until a write is refused. Says how many were acknowledged; then the error of
  /// that write, and those of other operations.
  func writeUntilRefused() async throws {
    let db = try open(.unsafeWithoutFlushing)
    let document = db.document("c/one")
    try await document.setData(["n": 0])
    let token = try await db.changeToken()
    Self.say("ready")
    var acknowledged = 1
    do {
      while true {
        try await db.document("c/\(acknowledged)").setData(["n": acknowledged])
        acknowledged += 1
      }
    } catch {
      Self.say("acknowledged \(acknowledged)")
      say(error, of: "set")
    }
    await attempt("batch") { try await db.batch().deleteDocument(document).commit() }
    await attempt("transaction") {
      try await db.runTransaction { transaction, _ in
        transaction.updateData(["n": 1], forDocument: document)
        return nil
      }
    }
    await attempt("closure") { try await db.write { try $0.deleteDocument(document) } }
    await attempt("declare") {
      try await db.indexes.declare(FirestoreIndex("c", .ascending("n"), .ascending("m")))
    }
    await attempt("policy") { try await db.ttl.setPolicy(collectionGroup: "c", field: "until") }
    await attempt("retention") {
      try await db.setChangeLogRetention(
        ChangeLogRetention(age: .seconds(1), limitBytes: 1 << 20))
    }
    await attempt("sweep") { try await db.ttl.deleteExpired() }
    await attempt("document") { try await document.getDocument() }
    await attempt("query") { try await db.collection("c").getDocuments() }
    await attempt("read") { try await db.read { try $0.getDocument(document) } }
    await attempt("changes") { for try await _ in db.changes(since: token) { break } }
    await attempt("listener") { for try await _ in document.snapshots { break } }
    await attempt("export") { try await db.maintenance.export(to: path + ".jsonl") }
    try await db.terminate()
    Self.say("ended")
  }

  private func attempt<Result>(_ name: String, _ body: () async throws -> Result) async {
    do {
      _ = try await body()
      Self.say("\(name): succeeded")
    } catch {
      say(error, of: name)
    }
  }

  private func say(_ error: any Error, of name: String) {
    let error = error as NSError
    Self.say("\(name): \(error.code) \(error.localizedDescription)")
  }
}
