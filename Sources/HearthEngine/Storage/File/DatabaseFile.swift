import Foundation
internal import LMDB

/// Recognizes a database by the first bytes of its file.
package enum DatabaseFile {
  /// Whether the file at `path` begins as a database does, damaged or not. False for a file that
  /// cannot be read.
  package static func isDatabase(at path: String) -> Bool {
    guard let file = FileHandle(forReadingAtPath: path) else { return false }
    defer { try? file.close() }
    return isDatabase((try? file.read(upToCount: 32)) ?? Data())
  }

  /// Whether a file with these first bytes, at least 20, is a database.
  static func isDatabase(_ start: some Collection<UInt8>) -> Bool {
    Environment.isHeader(Array(start.prefix(32)))
  }
}
