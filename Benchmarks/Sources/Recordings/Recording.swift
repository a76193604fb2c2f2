import Foundation
import RawLMDB

/// The documents and index entries of a database, to be put again by LMDB's own calls: the floor under a
/// bulk load.
///
/// The ids end with eight digits, which count up from 10,000,000 in the order of the load.
public final class Recording {
  private let documents: raw_entries
  private let entries: raw_entries
  /// How many of the entries the first commits have put, commit by commit.
  private let ends: [Int]
  private let group: Int

  public var documentCount: Int { documents.count }
  public var entryCount: Int { entries.count }

  /// Reads the file at `path`, which this process does not have open; `group` documents are a commit.
  public init(_ path: String, group: Int) {
    self.group = group
    documents = raw_copy(path, "documents")
    let sorted = raw_copy(path, "entries")
    // A key ends with the document's id and a zero.
    let commits = (0..<sorted.count).map { index in
      guard let key = sorted.keys[index] else { return 0 }
      let id = UnsafeBufferPointer(start: key + sorted.key_sizes[index] - 9, count: 8)
      return ((Int(String(decoding: id, as: UTF8.self)) ?? 0) - 10_000_000) / group
    }
    let order = (0..<sorted.count).sorted { (commits[$0], $0) < (commits[$1], $1) }
    entries = raw_reordered(sorted, order)
    var ends = [Int](repeating: 0, count: (documents.count + group - 1) / group)
    for commit in commits { ends[commit] += 1 }
    for commit in ends.indices.dropFirst() { ends[commit] += ends[commit - 1] }
    self.ends = ends
  }

  deinit {
    raw_free(documents)
    raw_free(entries)
  }

  /// Puts everything into a new file, entries in the order of their keys within a commit.
  public func put(at path: String, flushes: Bool) throws {
    guard let table = raw_open(path, "documents", flushes) else { throw POSIXError(.EIO) }
    defer { raw_close(table) }
    let name = entries.count > 0 ? "entries" : nil
    guard raw_put_both(table, documents, group, name, entries, ends) == 0 else {
      throw POSIXError(.EIO)
    }
  }
}
