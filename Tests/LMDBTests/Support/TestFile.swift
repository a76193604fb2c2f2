import Foundation
import Glibc

@testable import LMDB

/// A folder for one test's files, gone with the test.
final class TestFile: Sendable {
  let directory: String
  var path: String { directory + "/data" }

  init() throws {
    var template = Array((NSTemporaryDirectory() + "/lmdb-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else { throw LMDBError(errno, context: "mkdtemp") }
    directory = String(
      decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { try? FileManager.default.removeItem(atPath: directory) }

  func open(
    tables: [String] = ["t"], mapSizeBytes: Int = 1 << 30,
    _ change: (inout EnvironmentConfiguration) -> Void = { _ in }
  ) throws -> Environment {
    var configuration = EnvironmentConfiguration(tables: tables)
    configuration.mapSizeBytes = mapSizeBytes
    // Most tests are about something else than the disk.
    configuration.durability = .unsafeNoSync
    // A child that another test starts has all files of this process until it is another program.
    configuration.openElsewhereBackoff = .seconds(60)
    change(&configuration)
    return try Environment.open(at: path, configuration: configuration)
  }
}

/// Bytes from text, for the length of a call.
func bytes<R>(_ text: String, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
  try Array(text.utf8).withUnsafeBytes(body)
}

extension Snapshot {
  func text(_ table: Table, _ key: String) throws -> String? {
    try bytes(key) { key in try get(table, key).map { String(decoding: $0, as: UTF8.self) } }
  }
}

extension WriteTransaction {
  mutating func put(
    _ table: Table, _ key: String, _ value: String, append: Bool = false
  ) throws {
    try withBytes(key) { (writing: inout Self, key) in
      try Array(value.utf8).withUnsafeBytes {
        try writing.put(table, key, $0, append: append)
      }
    }
  }

  @discardableResult
  mutating func delete(_ table: Table, _ key: String) throws -> Bool {
    try withBytes(key) { (writing: inout Self, key) in try writing.delete(table, key) }
  }

  private mutating func withBytes<R>(
    _ text: String, _ body: (inout Self, UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    try Array(text.utf8).withUnsafeBytes { try body(&self, $0) }
  }
}

extension Environment {
  /// One commit.
  func write(_ body: (inout WriteTransaction) throws -> Void) throws {
    var writing = try beginWrite()
    try body(&writing)
    try writing.commit()
  }

  func text(_ name: String, _ key: String) throws -> String? {
    try read { try $0.text(table(name), key) }
  }
}
