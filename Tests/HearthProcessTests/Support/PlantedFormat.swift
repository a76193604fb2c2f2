import LMDB

@testable import HearthEngine

/// Gives a file that no database of this process has open another format version, as a newer Hearth
/// does in another process.
func plantFormat(_ version: UInt8, at path: String) throws {
  let environment = try Environment.open(
    at: path, configuration: EnvironmentConfiguration(tables: ["meta"]))
  defer { environment.close() }
  let meta = environment.table("meta")
  var writing = try environment.beginWrite()
  var record = try FileFormat.key.withUnsafeBytes { key in
    try writing.snapshot.get(meta, key).map { Array($0) } ?? []
  }
  record[0] = record[0] & 0xF0 | version
  RecordFrame.seal(&record, key: FileFormat.key)
  try writing.put(meta, FileFormat.key, record)
  try writing.commit()
}
