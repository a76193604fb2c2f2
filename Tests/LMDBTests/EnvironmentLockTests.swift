import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDB

/// Many threads, and one who wants to be alone.
@Suite(.ownThreads) struct EnvironmentLockTests {
  @Test func `L-01: a map that fills is grown and the writes repeated`() throws {
    let file = try TestFile()
    let environment = try file.open(mapSizeBytes: 1 << 20)
    let table = environment.table("t")
    let value = String(repeating: "v", count: 100_000)
    var grown = 0
    for number in 0..<300 {
      while true {
        do {
          try environment.write { try $0.put(table, "\(number)", value) }
          break
        } catch LMDBError.mapFull {
          try environment.grow(toAtLeast: try environment.info.mapSizeBytes + 1)
          grown += 1
        }
      }
    }
    #expect(try environment.read { try $0.statistics(table).entries } == 300)
    // 1 MiB to above 30 MiB, doubling.
    #expect((5...7).contains(grown))
  }

  @Test func `L-01: a map too large for the address space leaves the old one`() throws {
    let file = try TestFile()
    let environment = try file.open()
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    for size in [1 << 50, Int.max] {
      #expect(throws: LMDBError.outOfMemory) { try environment.grow(toAtLeast: size) }
      #expect(try environment.text("t", "a") == "1")
    }
    try environment.write { try $0.put(environment.table("t"), "a", "2") }
    #expect(try environment.info.mapSizeBytes == 1 << 30)
  }

  @Test func `L-02: sixteen readers and a writer beside one who grows and reopens`() throws {
    let file = try TestFile()
    let environment = try file.open(mapSizeBytes: 1 << 20) { $0.readerPoolLimit = 4 }
    let table = environment.table("t")
    try environment.write {
      try $0.put(table, "a", "0")
      try $0.put(table, "b", "0")
    }
    let isDone = Count()
    let reads = Count()
    let threads = Threads()
    for _ in 0..<16 {
      threads.start {
        while isDone.value == 0 {
          try environment.read { outer in
            let first = try outer.text(table, "a")
            // Nested, while the grower waits for the outer one.
            try environment.read { _ = try $0.text(table, "a") }
            if try outer.text(table, "b") != first { threads.complain("torn") }
          }
          reads.add(1)
        }
      }
    }
    threads.start {
      var number = 0
      while isDone.value == 0 {
        number += 1
        do {
          var writing = try environment.beginWrite()
          try writing.put(table, "a", "\(number)")
          try writing.put(table, "b", "\(number)")
          try writing.commit()
        } catch LMDBError.mapFull {
          // On a busy machine a reader keeps its pages for long, and the map is small.
        }
        _ = try environment.info
      }
    }
    for round in 1...(Soak.isOn ? 2000 : 60) {
      try environment.grow(toAtLeast: (1 << 20) + round * 65536)
      if round.isMultiple(of: 7) { try environment.reopen() }
      environment.clearStaleReaders()
    }
    // On a busy machine readers may come late.
    try blockUntil { reads.value > 0 }
    isDone.add(1)
    #expect(threads.join() == [])
    #expect(reads.value > 0)
  }

  @Test func `L-07: two thousand tasks read through a small pool`() async throws {
    let file = try TestFile()
    let environment = try file.open { $0.readerPoolLimit = 2 }
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    try await withThrowingTaskGroup(of: String?.self) { group in
      for _ in 0..<2000 { group.addTask { try environment.text("t", "a") } }
      for try await value in group { #expect(value == "1") }
    }
  }

  @Test func `L-07: more threads than places wait their turn`() throws {
    let file = try TestFile()
    let environment = try file.open { $0.readerPoolLimit = 3 }
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    let inside = Count()
    let threads = Threads()
    for _ in 0..<64 {
      threads.start {
        for _ in 0..<20 {
          try environment.read { snapshot in
            let now = inside.add(1)
            if now > 3 { threads.complain("\(now) inside") }
            if try snapshot.text(environment.table("t"), "a") != "1" {
              threads.complain("not read")
            }
            sched_yield()
            inside.add(-1)
          }
        }
      }
    }
    #expect(threads.join() == [])
  }

  @Test func `L-10: writers on many threads take turns`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    let threads = Threads()
    for thread in 0..<16 {
      threads.start {
        for number in 0..<20 {
          var writing = try environment.beginWrite()
          try writing.put(table, "\(thread) \(number)", "")
          try writing.commit()
        }
      }
    }
    #expect(threads.join() == [])
    #expect(try environment.read { try $0.statistics(table).entries } == 320)
  }

  @Test func `L-05: an idle reader of the pool holds nothing, and a held one is told`() throws {
    let file = try TestFile()
    let environment = try file.open()
    let table = environment.table("t")
    let value = String(repeating: "v", count: 500)
    try environment.write { writing in
      for number in 0..<2000 { try writing.put(table, "\(number)", value) }
    }
    try environment.read { _ in }
    func commits(_ count: Int) throws -> Int {
      for number in 0..<count {
        try environment.write { writing in
          for entry in 0..<20 { try writing.put(table, "\((number + entry * 97) % 2000)", value) }
        }
      }
      return try environment.info.fileSizeBytes
    }
    let settled = try commits(50)
    #expect(try commits(200) <= settled * 11 / 10)
    try environment.read { _ in
      let size = try commits(200)
      #expect(size > settled * 2)
      #expect(try environment.info.oldestReaderLag == 200)
    }
    #expect(try environment.info.oldestReaderLag == 0)
  }

  @Test func `L-31: closing waits for readers and a writer`() throws {
    for _ in 0..<(Soak.isOn ? 200 : 20) {
      let file = try TestFile()
      let environment = try file.open()
      let table = environment.table("t")
      let threads = Threads()
      let transactions = Count()
      for index in 0..<8 {
        threads.start {
          do {
            while true {
              if index < 2 {
                var writing = try environment.beginWrite()
                try writing.put(table, "a", "1")
                try writing.commit()
              } else {
                try environment.read { _ = try $0.text(table, "a") }
              }
              transactions.add(1)
            }
          } catch LMDBError.closed {}
        }
      }
      try blockUntil { transactions.value >= 50 }
      environment.close()
      #expect(threads.join() == [])
      try file.open().close()
    }
  }
}

/// Threads of their own, since tasks would share a few, and what went wrong on them.
final class Threads: Sendable {
  private let started = Mutex<[DispatchSemaphore]>([])
  private let complaints = Mutex<[String]>([])

  func start(_ body: @escaping @Sendable () throws -> Void) {
    let done = DispatchSemaphore(value: 0)
    started.withLock { $0.append(done) }
    let thread = Thread {
      do { try body() } catch { self.complain("\(error)") }
      done.signal()
    }
    thread.start()
  }

  func complain(_ sentence: String) { complaints.withLock { $0.append(sentence) } }

  /// Waits for all, and says what went wrong.
  func join() -> [String] {
    for done in started.withLock({ $0 }) { done.wait() }
    return complaints.withLock { $0 }
  }
}

final class Count: Sendable {
  private let count = Atomic(0)
  var value: Int { count.load(ordering: .relaxed) }
  @discardableResult func add(_ number: Int) -> Int {
    count.add(number, ordering: .relaxed).newValue
  }
}
