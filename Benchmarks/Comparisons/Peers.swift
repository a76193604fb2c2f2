import Flushes
import GRDB
import RawLMDB

/// What is known of the libraries below.
enum Peers {
  static var lmdbVersion: String { String(cString: raw_version()) }

  static func sqliteVersion() throws -> String {
    try DatabaseQueue().read { try String.fetchOne($0, sql: "SELECT sqlite_version()") } ?? ""
  }
}

/// Flushes to disk of this process so far, by any library.
enum Flushes {
  static var count: Int { Int(flushes_count()) }
}
