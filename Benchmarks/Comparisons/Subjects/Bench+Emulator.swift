import Foundation
import Hearth
import Synchronization
import Workloads

extension Bench {
  private struct Times: Decodable {
    var startup: Double
    var set, get, query, news: [Double]
  }

  /// Google's emulator through its official Python client, where they are installed: what tests run
  /// against today. It is another process, and keeps its data in memory; so nothing is flushed here.
  func emulator() async throws {
    guard wants("emulator-set", "emulator-get", "emulator-query", "emulator-news") else { return }
    let environment = ProcessInfo.processInfo.environment
    guard let python = environment["HEARTH_EMULATOR_PYTHON"],
      let script = environment["HEARTH_EMULATOR_SCRIPT"]
    else { return note("the emulator is not installed, and was not measured") }
    let process = Process()
    process.executableURL = URL(filePath: python)
    process.arguments = [script, String(max(20, rounds * 10))]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      return note("the emulator did not run, and was not measured")
    }
    let theirs = try JSONDecoder().decode(Times.self, from: data)
    note("the emulator took \(text(theirs.startup)) s to start")

    let hearth = try HearthEngine(path: path("emulator"), durability: .unsafeWithoutFlushing)
    try await hearth.load(0..<1000, group: 500)
    let books = hearth.database.collection("books")
    let news = Mutex<CheckedContinuation<Void, Never>?>(nil)
    let count = theirs.set.count
    var ours = (set: [Double](), get: [Double](), query: [Double](), news: [Double]())
    for index in 0..<count {
      ours.set.append(
        try await Race.nanoseconds(1) { try await hearth.put(Book(index), "new-\(index)") })
      ours.get.append(
        try await Race.nanoseconds(1) { _ = try await hearth.get(Book.id(index)) })
      ours.query.append(
        try await Race.nanoseconds(1) { _ = try await hearth.books(by: Book.author(index % 10)) })
    }
    let listener = books.document("listened").addSnapshotListener { _, _ in
      news.withLock { waiting in
        waiting?.resume()
        waiting = nil
      }
    }
    try await Task.sleep(for: .milliseconds(100))
    for index in 0..<count {
      ours.news.append(
        try await Race.nanoseconds(1) {
          await withCheckedContinuation { continuation in
            news.withLock { $0 = continuation }
            books.document("listened").setData(["n": index])
          }
        })
    }
    listener.remove()
    try await hearth.close()
    func tell(_ name: String, _ work: String, _ own: [Double], _ peer: [Double]) {
      // Not in one run with each other: medians over medians, with the quartiles as the spread.
      let own = own.sorted(), peer = peer.sorted()
      let quarters = [1, 2, 3].map { peer[peer.count * $0 / 4] / median(own) }
      self.tell(
        Figure(
          name: name, work: work, against: "Firestore emulator", ratios: quarters, aim: 100,
          own: median(own), peer: median(peer), unit: "ns"))
    }
    tell("emulator-set", "set a book, not flushed", ours.set, theirs.set)
    tell("emulator-get", "get a book", ours.get, theirs.get)
    tell("emulator-query", "equality, 100 books", ours.query, theirs.query)
    tell("emulator-news", "set until its news, not flushed", ours.news, theirs.news)
  }
}
