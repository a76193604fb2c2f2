import Foundation
import Hearth

/// The same calls as those of load.go, without a server. Prints the processor time of one, in
/// microseconds, as JSON.
///
///     InProcess FILE COUNT

/// The book of the other benchmarks.
func book(_ number: Int) -> [String: Any] {
  let base = "https://example.com/covers/\(number)"
  return [
    "title": "The Hitchhiker's Guide to the Galaxy, volume \(number)",
    "author": "Author number \(number / 100)", "isbn": "978-0-345-39180-\(number % 10)",
    "numberOfPages": number * 7919 % 1_000_003 % 1000,
    "rating": Double(number * 7919 % 1_000_003) / 200_000,
    "published": 308_620_800 + number % 1_000_000, "isAvailable": number % 3 != 0,
    "tags": [
      ["title": "favourite", "color": "#ff0000"],
      ["title": "shelf \(number % 20)", "color": "#00ff00"],
    ],
    "genres": ["comedy", "science fiction", "adventure"],
    "cover": [
      "small": base + "/small.png", "medium": base + "/medium.png", "large": base + "/large.png",
    ],
  ]
}

/// Microseconds of processor time that this process has used.
func processorTime() -> Double {
  var usage = rusage()
  getrusage(RUSAGE_SELF.rawValue, &usage)
  return [usage.ru_utime, usage.ru_stime].reduce(0) {
    $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec)
  }
}

func measure(_ count: Int, _ call: (Int) async throws -> Void) async throws -> Double {
  for number in 0...(count / 10) { try await call(number) }
  let before = processorTime()
  for number in 0..<count { try await call(number) }
  return (processorTime() - before) / Double(count)
}

func run(_ path: String, _ count: Int) async throws {
  let db = try Firestore.open(at: path)
  let books = db.collection("books")
  for start in stride(from: 0, to: 1000, by: 250) {
    let batch = db.batch()
    for number in start..<(start + 250) {
      batch.setData(book(number), forDocument: books.document("\(number)"))
    }
    try await batch.commit()
  }
  var times: [String: Double] = [:]
  times["set"] = try await measure(count) {
    try await db.document("others/\($0 % 1000)").setData(book($0))
  }
  times["get"] = try await measure(count) {
    _ = try await books.document("\($0 % 1000)").getDocument().data()
  }
  times["query"] = try await measure(count) {
    let found = try await books.whereField("author", isEqualTo: "Author number \($0 % 10)")
      .getDocuments()
    precondition(found.documents.map { $0.data() }.count == 100)
  }
  print(String(decoding: try JSONEncoder().encode(times), as: UTF8.self))
  try await db.terminate()
}

guard CommandLine.arguments.count == 3, let count = Int(CommandLine.arguments[2]) else {
  fatalError("InProcess FILE COUNT")
}
try await run(CommandLine.arguments[1], count)
