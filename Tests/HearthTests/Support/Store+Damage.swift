import LMDB

@testable import Hearth
@testable import HearthEngine

extension Store {
  /// Turns a bit of a stored document, in the byte at this distance from the end of its record.
  func damage(_ path: String, fromEnd distance: Int = 1) throws {
    let name = DocumentName(ResourcePath(relative: path), limit: keyLimit)
    try replaceRecord(tables.documents, name.key.bytes) { $0[$0.count - distance] ^= 1 }
  }

  /// Puts a record, valid or not, where the engine would put one.
  func replaceRecord(_ table: Table, _ key: [UInt8], _ change: (inout [UInt8]) -> Void) throws {
    var transaction = try environment.beginWrite()
    try key.withUnsafeBytes { key in
      var value = try transaction.snapshot.get(table, key).map { Array($0) } ?? []
      change(&value)
      try value.withUnsafeBytes { try transaction.put(table, key, $0) }
    }
    try transaction.commit()
  }
}
