import Foundation
import GRDB
import Hearth
import Workloads

extension Bench {
  /// The same work among more and more books, and files of larger and larger documents.
  func growth() async throws {
    guard !sizes.isEmpty else { return }
    for books in sizes {
      try await grow(HearthEngine.self, to: books)
      try await grow(GRDBEngine.self, to: books)
      try await grow(SQLiteJSONEngine.self, to: books)
    }
    // The last as long as a text may be, nearly.
    for bytes in [300, 2100, 5000, 1_048_000] { try await fill(bytes) }
  }

  private func grow<Peer: Engine>(_ peer: Peer.Type, to books: Int) async throws {
    let path = path("growth")
    let engine = try await Peer(path: path)
    func note(_ work: String, _ count: Int, _ body: () async throws -> Void) async throws {
      _ = try await Race.nanoseconds(count, body)
      var times: [Double] = []
      for _ in 0..<3 { times.append(try await Race.nanoseconds(count, body)) }
      grown(Growth(work: work, engine: Peer.name, size: books, value: median(times), unit: "ns"))
    }
    let load = try await Race.nanoseconds(books) {
      try await engine.load(0..<books, group: 1000)
    }
    grown(Growth(work: "bulk load", engine: Peer.name, size: books, value: load, unit: "ns"))
    var next = 0
    try await note("get by id", 500) {
      for _ in 0..<500 {
        next += 1
        _ = try await engine.get(Book.id(next &* 7919 % books))
      }
    }
    try await note("equality, 100 books", 5) {
      for _ in 0..<5 {
        next += 1
        _ = try await engine.books(by: Book.author(next &* 13 % (books / 100)))
      }
    }
    try await note("order + limit 20", 5) {
      for _ in 0..<5 { _ = try await engine.bestRated(20) }
    }
    try await engine.close()
    grown(
      Growth(
        work: "file", engine: Peer.name, size: books,
        value: Double(Self.bytes(of: path)) / Double(books), unit: "B"))
    try? FileManager.default.removeItem(atPath: path)
  }

  private struct Note: Codable, PersistableRecord {
    static let databaseTableName = "notes"
    var id: String
    var text: String
  }

  /// Documents with one text of so many bytes, without indexes.
  private func fill(_ bytes: Int) async throws {
    let count = max(16, min(2000, 8_000_000 / bytes))
    let text = String(repeating: "Hearth ", count: bytes / 7)
    let (own, peer) = (path("filled"), path("filled"))
    let group = max(1, min(100, 4_000_000 / bytes))
    let db = try Firestore.open(at: own)
    for start in stride(from: 0, to: count, by: group) {
      let batch = db.batch()
      for number in start..<min(start + group, count) {
        batch.setData(["text": text], forDocument: db.document("notes/\(10_000_000 + number)"))
      }
      try await batch.commit()
    }
    try await db.terminate()
    let pool = try GRDBEngine.open(peer)
    try await pool.write { db in
      try db.create(table: "notes") { table in
        table.primaryKey("id", .text)
        table.column("text", .text).notNull()
      }
    }
    try await pool.write(0..<count, group) {
      try Note(id: "\(10_000_000 + $1)", text: text).insert($0)
    }
    try pool.close()
    for (engine, path) in [(HearthEngine.name, own), (GRDBEngine.name, peer)] {
      grown(
        Growth(
          work: "file of one text", engine: engine, size: bytes,
          value: Double(Self.bytes(of: path)) / Double(count), unit: "B"))
    }
  }
}
