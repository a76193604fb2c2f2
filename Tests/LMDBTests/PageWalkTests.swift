import Foundation
import Glibc
import Testing

@testable import LMDB

/// Whole files are found whole, and every bit that means something is missed when it is turned.
struct PageWalkTests {
  @Test func `a new file, an empty table and a full one are whole`() throws {
    let file = try TestFile()
    try Data().write(to: URL(fileURLWithPath: file.path))
    #expect(try PageWalk.check(file.path).problems == [])
    let environment = try file.open(tables: ["t", "empty"])
    #expect(try PageWalk.check(file.path).problems == [])
    try environment.write { writing in
      for number in 0..<3000 { try writing.put(environment.table("t"), "\(number)", "v") }
    }
    environment.close()
    var met = 0
    let report = try PageWalk.check(
      file.path,
      visit: { name, key, value in
        #expect(name == "t" && !key.isEmpty && value.count == 1)
        met += 1
      })
    #expect(report.problems == [])
    #expect(report.entries == ["t": 3000, "empty": 0] && met == 3000)
    #expect(report.usedPages > 10 && report.pageSizeBytes == 4096)
  }

  @Test func `a file is whole after any churn`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Random(seed: seed)
    let file = try TestFile()
    for round in 0..<(isSoak ? 400 : 40) {
      let environment = try file.open(tables: ["t", "u"])
      for _ in 0..<6 {
        try environment.write { writing in
          for _ in 0..<Int.random(in: 1...120, using: &random) {
            let table = environment.table(Bool.random(using: &random) ? "t" : "u")
            let key =
              String(Int.random(in: 0..<400, using: &random))
              + String(repeating: "k", count: Int.random(in: 0...200, using: &random) / 8 * 8)
            if Int.random(in: 0..<3, using: &random) == 0 {
              try writing.delete(table, key)
            } else {
              let sizes = [3, 40, 700, 2000, 2100, 9000, 40_000]
              let size = sizes[Int.random(in: 0..<sizes.count, using: &random)]
              try writing.put(
                table, key, String(repeating: "v", count: Int.random(in: 0...size, using: &random)))
            }
          }
        }
      }
      environment.close()
      let report = try PageWalk.check(file.path)
      try #require(report.problems == [], "seed \(seed), round \(round)")
    }
  }
}
