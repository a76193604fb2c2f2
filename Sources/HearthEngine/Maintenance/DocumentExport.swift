import Foundation
internal import HearthText
internal import LMDB

/// Every document as a line of JSON, between a header line and a last line with the document count.
enum DocumentExport {
  /// Exports the state of one commit, in one read transaction. Returns the number of documents.
  static func run(
    _ store: Store, to path: String, replacing: Bool, progress: MaintenanceReporter = .silent
  ) throws -> Int {
    try FileCopy.beside(path, replacing: replacing) { file in
      guard let handle = FileHandle(forWritingAtPath: file.path) else {
        throw Status(
          .unavailable,
          "Cannot write \(file.path.legible). \(FileError.sentence(forCode: errno))")
      }
      return try run(store, progress: progress) { text in
        do {
          try handle.write(contentsOf: text)
        } catch {
          let reason = FileError.sentence(for: error).map { " \($0)" } ?? ""
          throw Status(.resourceExhausted, "Cannot write \(path.legible).\(reason)", cause: error)
        }
      }
    }
  }

  static func run(
    _ store: Store, progress: MaintenanceReporter = .silent, _ write: ([UInt8]) throws -> Void
  ) throws -> Int {
    try store.readWhole(progress) { snapshot in
      let total = try snapshot.lmdb.statistics(store.tables.documents).entries
      let time = try snapshot.state().lastCommitTime.text
      let definitions = try ExportedDefinitions(snapshot).text
      var text = Array("{\"hearthExport\":1,\"commitTime\":\"\(time)\"\(definitions)}\n".utf8)
      var count = 0
      var cursor = try snapshot.lmdb.cursor(store.tables.documents)
      while try cursor.next() {
        let path = try snapshot.path(of: StoredEntry(key: cursor.key, record: cursor.value))
        let record = try DocumentRecord(parsing: cursor.value)
        do throws(Status) {
          try record.verifyChecksum(key: cursor.key)
          let body = try snapshot.body(record.storedBody)
          try DocumentJSON.append(record, body, at: path, to: &text)
        } catch {
          throw Status(error.code, "\(path.text.legible): \(error.message)", cause: error.cause)
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
