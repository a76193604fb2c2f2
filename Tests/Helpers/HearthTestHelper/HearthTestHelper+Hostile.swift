import Foundation
import Hearth

extension HearthTestHelper {
  /// ["validating"]: opens a file that may be damaged, and does everything with it. Errors are said.
  func openHostile() async throws {
    let settings = FirestoreSettings()
    settings.validatesPagesOnOpen = arguments.first == "validating"
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: path, settings: settings)
    Self.say("opened")
    func trying(_ body: () async throws -> Void) async {
      do { try await body() } catch { Self.say("error \((error as NSError).localizedDescription)") }
    }
    let books = db.collection("books")
    await trying { _ = try await books.document("0").getDocument() }
    await trying { _ = try await books.getDocuments() }
    await trying {
      _ = try await books.whereField("n", isGreaterThan: 100).order(by: "n").getDocuments()
    }
    await trying { _ = try await books.count.getAggregation(source: .server) }
    await trying { for try await _ in books.snapshots { break } }
    await trying { _ = try await db.statistics() }
    await trying {
      for number in 0..<200 {
        let text = String(repeating: "y", count: number * 40)
        try await books.document("\(number)").setData(["n": number, "text": text])
      }
    }
    await trying { try await db.maintenance.backup(to: path + ".copy") }
    await trying { try await db.maintenance.export(to: path + ".lines") }
    await trying { _ = try await db.maintenance.check() }
    await trying { try await db.terminate() }
  }
}
