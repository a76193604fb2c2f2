import Foundation
import LMDB

/// Every document as a line of JSON, between a first line that says so and a last one that counts.
enum DocumentExport {
  /// As of one commit, in one read transaction. Returns the number of documents.
  static func run(
    _ store: Store, to path: String, replacing: Bool, progress: CareReporter = .silent
  ) throws -> Int {
    do {
      let file = try NewFile(for: path, replacing: replacing)
      guard let handle = FileHandle(forWritingAtPath: file.path) else {
        throw Status(.unavailable, "Cannot write \(file.path).")
      }
      let count = try run(store, progress: progress) { try handle.write(contentsOf: $0) }
      try handle.close()
      try file.takePlace()
      return count
    } catch let error as LMDBError {
      throw Status(copying: path, error)
    } catch let error as CocoaError {
      throw Status(.resourceExhausted, "Cannot write \(path).", cause: error)
    }
  }

  static func run(
    _ store: Store, progress: CareReporter = .silent, _ write: ([UInt8]) throws -> Void
  ) throws -> Int {
    try store.read { snapshot in
      let total = try snapshot.lmdb.statistics(store.tables.documents).entries
      let time = try snapshot.state().lastCommitTime.text
      var text = Array(#"{"hearthExport":1,"commitTime":"\#(time)"}"#.utf8 + [UInt8(ascii: "\n")])
      var count = 0
      var cursor = try snapshot.lmdb.cursor(store.tables.documents)
      while try cursor.next() {
        let path = try snapshot.path(of: StoredEntry(key: cursor.key, record: cursor.value))
        let record = try DocumentRecord(parsing: cursor.value)
        do throws(Status) {
          try record.verifyChecksum(key: cursor.key)
          try DocumentJSON.append(record, at: path, to: &text)
        } catch {
          throw Status(error.code, "\(path.text): \(error.message)", cause: error.cause)
        }
        count += 1
        guard text.count >= 1 << 18 else { continue }
        try write(text)
        text.removeAll(keepingCapacity: true)
        try progress(.exporting, count, of: total)
      }
      text += "{\"documents\":\(count)}\n".utf8
      try write(text)
      try progress(.exporting, total, of: total)
      return count
    }
  }
}
