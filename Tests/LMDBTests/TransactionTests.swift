import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDB

@Suite(.ownThreads) struct TransactionTests {
  @Test func `L-08: reads nest on one thread, beyond the pool too`() throws {
    let file = try TestFile()
    let environment = try file.open { $0.readerPoolLimit = 2 }
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    func nest(_ depth: Int) throws -> String? {
      try environment.read { snapshot in
        depth > 1 ? try nest(depth - 1) : try snapshot.text(environment.table("t"), "a")
      }
    }
    #expect(try nest(4) == "1")
  }

  @Test func `L-09: a new read starts from the newest commit, an old one keeps its own`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    try environment.write { try $0.put(table, "a", "1") }
    try environment.read { snapshot in
      let first = snapshot.transactionID
      try environment.write { try $0.put(table, "a", "2") }
      #expect(try snapshot.text(table, "a") == "1")
      #expect(try environment.text("t", "a") == "2")
      #expect(try environment.read { $0.transactionID } == first + 1)
    }
  }

  @Test func `L-11: a second write on one thread is an error, not a deadlock`() throws {
    let file = try TestFile()
    let environment = try file.open()
    do {
      var writing = try environment.beginWrite()
      try writing.put(environment.table("t"), "a", "1")
      #expect(throws: LMDBError.nestedWrite) { _ = try environment.beginWrite() }
      #expect(throws: LMDBError.transactionOpen) { try environment.grow(toAtLeast: 2 << 30) }
      #expect(throws: LMDBError.transactionOpen) { try environment.reopen() }
      #expect(try environment.text("t", "a") == nil)
      #expect(try writing.snapshot.text(environment.table("t"), "a") == "1")
    }
    // Left without a commit: aborted, and the place is free.
    try environment.write { try $0.put(environment.table("t"), "b", "2") }
    #expect(try environment.text("t", "a") == nil)
  }

  @Test func `L-10: a write transaction ended by another thread stops loudly`() async {
    await #expect(processExitsWith: .failure) {
      let file = try TestFile()
      let environment = try file.open()
      let writing = try environment.beginWrite()
      let snapshot = writing.snapshot
      nonisolated(unsafe) let escaped = snapshot
      let threads = Threads()
      threads.start { environment.abort(escaped) }
      // The other thread ends the process before.
      _ = threads.join()
      writing.abort()
    }
  }

  @Test func `L-31: closing with a transaction of one's own stops loudly`() async {
    await #expect(processExitsWith: .failure) {
      let file = try TestFile()
      let environment = try file.open()
      try environment.read { _ in environment.close() }
    }
  }

  @Test func `L-19: keys of 0 and above 511 bytes change and find nothing`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    let longest = String(repeating: "k", count: 511)
    try environment.write { writing in
      try writing.put(table, longest, "1")
      for key in ["", longest + "k", String(repeating: "k", count: 10_000)] {
        #expect(throws: LMDBError.badValueSize) { try writing.put(table, key, "2") }
        #expect(throws: LMDBError.badValueSize) { try writing.delete(table, key) }
        #expect(throws: LMDBError.badValueSize) { _ = try writing.snapshot.text(table, key) }
        var cursor = try writing.snapshot.cursor(table)
        #expect(throws: LMDBError.badValueSize) { _ = try bytes(key) { try cursor.seek(to: $0) } }
      }
    }
    #expect(try environment.text("t", longest) == "1")
    #expect(try environment.read { try $0.statistics(table).entries } == 1)
  }

  @Test func `L-20: what is deleted and put again, at random, equals a dictionary`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededGenerator(seed: seed)
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    var model: [String: String] = [:]
    for _ in 0..<40 {
      let isKept = Bool.random(using: &random)
      let before = model
      var writing = try environment.beginWrite()
      for _ in 0..<60 {
        let key = "key \(Int.random(in: 0..<200, using: &random))"
        let value = String(repeating: "v", count: Int.random(in: 0..<6000, using: &random))
        if Int.random(in: 0..<4, using: &random) == 0 {
          let wasThere = try writing.delete(table, key)
          #expect(wasThere == (model.removeValue(forKey: key) != nil), "seed \(seed)")
        } else {
          try writing.put(table, key, value)
          model[key] = value
        }
      }
      if isKept { try writing.commit() } else { writing.abort() }
      if !isKept { model = before }
      #expect(try all(environment) == model, "seed \(seed)")
    }
  }

  @Test func `append keeps order`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    var writing = try environment.beginWrite()
    try writing.put(table, "b", "1", append: true)
    #expect(throws: LMDBError.keyExists) { try putBefore(&writing) }
    func putBefore(_ writing: inout WriteTransaction) throws {
      try writing.put(table, "a", "1", append: true)
    }
    try writing.put(table, "d", "")
    try writing.commit()
    #expect(try all(environment) == ["b": "1", "d": ""])
  }

  @Test func `a cursor walks both ways and finds the next key`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    try environment.read { snapshot in
      var cursor = try snapshot.cursor(table)
      #expect(try !cursor.next())
      #expect(try !cursor.first())
      #expect(try !cursor.last())
      #expect(cursor.key.isEmpty)
    }
    try environment.write { writing in
      for key in ["b", "d", "f"] { try writing.put(table, key, key + key) }
    }
    try environment.read { snapshot in
      var cursor = try snapshot.cursor(table)
      #expect(try cursor.next() && text(cursor) == "b bb")
      #expect(try cursor.next() && text(cursor) == "d dd")
      #expect(try cursor.previous() && text(cursor) == "b bb")
      #expect(try !cursor.previous() && cursor.key.isEmpty && cursor.value.isEmpty)
      #expect(try bytes("c") { try cursor.seek(to: $0) } && text(cursor) == "d dd")
      #expect(try bytes("d") { try cursor.seek(exactly: $0) } && text(cursor) == "d dd")
      #expect(try !bytes("c") { try cursor.seek(exactly: $0) } && cursor.key.isEmpty)
      #expect(try !bytes("g") { try cursor.seek(to: $0) })
      #expect(try cursor.last() && text(cursor) == "f ff")
    }
  }

  @Test func `a cursor in a write transaction survives changes and the end`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    var writing = try environment.beginWrite()
    for key in ["a", "b", "c", "d"] { try writing.put(table, key, key) }
    var cursor = try writing.snapshot.cursor(table)
    var walked: [String] = []
    while try cursor.next() {
      let key = String(decoding: cursor.key, as: UTF8.self)
      walked.append(key)
      if key != "c" { try writing.delete(table, key) }
      #expect(key == "c" || cursor.key.isEmpty)
    }
    #expect(walked == ["a", "b", "c", "d"])
    try writing.commit()
    // LMDB has freed it.
    #expect(throws: LMDBError.transactionEnded) { _ = try cursor.first() }
    #expect(try all(environment) == ["c": "c"])
  }

  @Test func `a snapshot after its transaction is refused`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    let escaped = try environment.read { $0 }
    #expect(throws: LMDBError.transactionEnded) { _ = try escaped.text(table, "a") }
    #expect(throws: LMDBError.transactionEnded) { _ = try escaped.cursor(table) }
    #expect(throws: LMDBError.transactionEnded) { _ = try escaped.statistics(table) }
    #expect(escaped.transactionID == 0)
  }

  @Test func `borrowed bytes are poisoned when their loan ends`() throws {
    let file = try TestFile()
    let environment = try file.open { $0.poisonsBorrowedBytes = true }
    let table = environment.table("t")
    var writing = try environment.beginWrite()
    try writing.put(table, "a", "1")
    let value = try bytes("a") { try writing.snapshot.get(table, $0) }
    #expect(value.map(Array.init) == [UInt8(ascii: "1")])
    try writing.put(table, "b", "2")
    #expect(value.map(Array.init) == [0xDB])
    try writing.commit()
    var lent: UnsafeRawBufferPointer?
    try environment.read { snapshot in
      var cursor = try snapshot.cursor(table)
      #expect(try cursor.last())
      lent = cursor.key
      #expect(lent.map(Array.init) == [UInt8(ascii: "b")])
    }
    #expect(lent.map(Array.init) == [0xDB])
  }

  @Test func `each storage call can be made to fail, before it does anything`() throws {
    for call in StorageCall.allCases where call != .open {
      let file = try TestFile()
      let script = Script([call: 1])
      let environment = try file.open { $0.faultInjector = { script.code(for: $0, EIO) } }
      let table = environment.table("t")
      let everything = {
        try environment.write { writing in
          try writing.put(table, "a", "1")
          try writing.delete(table, "a")
          _ = try writing.snapshot.cursor(table)
          _ = try writing.snapshot.text(table, "a")
          try writing.put(table, "b", "2")
        }
        try environment.sync()
        try environment.grow(toAtLeast: 2 << 30)
      }
      #expect(throws: LMDBError.inputOutput) { try everything() }
      if call == .commit { #expect(try environment.text("t", "b") == nil) }
      try environment.reopen()
      try everything()
      #expect(try environment.text("t", "b") == "2")
    }
  }

  @Test func `after a failed commit writing waits for reopen, reading does not`() throws {
    let file = try TestFile()
    let script = Script([.commit: 2])
    let environment = try file.open { $0.faultInjector = { script.code(for: $0, EIO) } }
    let table = environment.table("t")
    try environment.write { try $0.put(table, "a", "1") }
    #expect(throws: LMDBError.inputOutput) {
      try environment.write { try $0.put(table, "a", "2") }
    }
    #expect(throws: LMDBError.needsReopen) { _ = try environment.beginWrite() }
    #expect(try environment.text("t", "a") == "1")
    try environment.reopen()
    try environment.write { try $0.put(table, "a", "3") }
    #expect(try environment.text("t", "a") == "3")
  }

  @Test func `a file replaced by another is not reopened`() throws {
    let file = try TestFile()
    let environment = try file.open()
    try FileManager.default.removeItem(atPath: file.path)
    #expect(throws: LMDBError.fileReplaced) { try environment.reopen() }
    #expect(!FileManager.default.fileExists(atPath: file.path))
    try Data().write(to: URL(fileURLWithPath: file.path))
    #expect(throws: LMDBError.fileReplaced) { try environment.reopen() }
    #expect(throws: LMDBError.needsReopen) { try environment.read { _ in } }
    environment.close()
    _ = try file.open()
  }

  private func text(_ cursor: borrowing Cursor) -> String {
    String(decoding: cursor.key, as: UTF8.self) + " "
      + String(decoding: cursor.value, as: UTF8.self)
  }

  private func all(_ environment: Environment) throws -> [String: String] {
    try environment.read { snapshot in
      var cursor = try snapshot.cursor(environment.table("t"))
      var found: [String: String] = [:]
      while try cursor.next() {
        found[String(decoding: cursor.key, as: UTF8.self)] =
          String(decoding: cursor.value, as: UTF8.self)
      }
      return found
    }
  }
}
