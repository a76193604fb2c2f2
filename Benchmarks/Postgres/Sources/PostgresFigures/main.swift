import Foundation
import Hearth

/// Hearth over PostgreSQL beside a program that was written by hand, in turns.
///
///     PostgresFigures URL [rounds]
///
/// One at a time by way of a proxy that takes half a millisecond in each direction; 64 writers without it.

/// A value that several threads change.
final class Shared<Value: Sendable>: @unchecked Sendable {
  // Unchecked: `lock` protects the value.
  private let lock = NSLock()
  private var stored: Value
  init(_ value: Value) { stored = value }
  var value: Value { lock.withLock { stored } }
  func set(_ value: Value) { lock.withLock { stored = value } }
  func update(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// Microseconds of one call, the median of some.
func measure(_ count: Int = 60, _ body: () async throws -> Void) async throws -> Double {
  let clock = ContinuousClock()
  var times: [Double] = []
  for _ in 0..<count {
    let start = clock.now
    try await body()
    times.append((clock.now - start) / .microseconds(1))
  }
  return median(times)
}

/// Microseconds of processor time that this process has used.
func processorTime() -> Double {
  var usage = rusage()
  getrusage(RUSAGE_SELF.rawValue, &usage)
  return [usage.ru_utime, usage.ru_stime].reduce(0) {
    $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec)
  }
}

func row(_ title: String, _ own: [Double], _ peer: [Double], unit: String) {
  let ratios = zip(own, peer).map { $0 / $1 }
  func text(_ value: Double) -> String { String(format: "%.0f", value) }
  print(
    "| \(title) | \(text(median(own))) \(unit) | \(text(median(peer))) \(unit) | "
      + String(format: "%.2f", median(ratios)) + " |")
}

/// Commits a second of several threads, each with a connection of its own.
func peerWriters(_ count: Int, _ url: String, _ body: [UInt8], seconds: Double) throws -> Double {
  let group = DispatchGroup()
  let commits = Shared(0)
  let end = Date(timeIntervalSinceNow: seconds)
  let peers = try (0..<count).map { _ in try Peer(url) }
  for (number, peer) in peers.enumerated() {
    nonisolated(unsafe) let peer = peer  // Unchecked: used by this thread only.
    group.enter()
    Thread {
      var own = 0
      while Date() < end {
        do { try peer.commit("w\(number)", body) } catch { print(error) }
        own += 1
      }
      commits.update { [own] in $0 += own }
      group.leave()
    }.start()
  }
  group.wait()
  return Double(commits.value) / seconds
}

func ownWriters(_ count: Int, _ db: Firestore, seconds: Double) async throws -> Double {
  let end = Date(timeIntervalSinceNow: seconds)
  let commits = try await withThrowingTaskGroup { group in
    for number in 0..<count {
      group.addTask {
        var own = 0
        while Date() < end {
          try await db.document("c/w\(number)").setData(["n": own, "text": text])
          own += 1
        }
        return own
      }
    }
    return try await group.reduce(0, +)
  }
  return Double(commits) / seconds
}

let text = String(repeating: "some text of a document ", count: 8)
let body = Array(repeating: UInt8(7), count: 220)
guard CommandLine.arguments.count > 1, let server = URLComponents(string: CommandLine.arguments[1])
else { fatalError("PostgresFigures URL [rounds]") }
let rounds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 5 : 5

func close(_ db: Firestore) async throws { try await db.terminate() }

func addDocuments(to db: Firestore) async throws {
  let batch = db.batch()
  for id in 0..<100 { batch.setData(["n": id, "text": text], forDocument: db.document("q/\(id)")) }
  batch.setData(["n": 0, "text": text], forDocument: db.document("c/1"))
  try await batch.commit()
}

func url(_ schema: String, port: UInt16? = nil) -> String {
  var parts = server
  if let port { parts.port = Int(port) }
  return "\(parts.string ?? "")?options=-csearch_path%3D\(schema)"
}

for schema in ["figures_own", "figures_peer"] {
  let admin = try Peer(server.string ?? "")
  _ = try admin.run([("DROP SCHEMA IF EXISTS \(schema) CASCADE", [])])
  _ = try admin.run([("CREATE SCHEMA \(schema)", [])])
}
let proxy = try DelayingProxy(to: UInt16(server.port ?? 5432), delayMicroseconds: 500)
let own = try Firestore.open(url("figures_own", port: proxy.port))
let ownNear = try Firestore.open(url("figures_own"))
// Makes the peer's tables.
try await close(Firestore.open(url("figures_peer")))
let peer = try Peer(url("figures_peer", port: proxy.port))
let listening = try Peer(url("figures_peer", port: proxy.port))
try listening.listen()
try await addDocuments(to: own)
for id in 0..<100 { try peer.commit("\(id)", in: "q", body) }
try peer.commit("1", body)

print("| | Hearth | by hand | ratio |")
print("|---|---|---|---|")

var figures: [[Double]] = Array(repeating: [], count: 13)
var processor: [[Double]] = [[], []]
let seen = Shared(0)
let arrived = DispatchSemaphore(value: 0)
let registration = own.document("c/news").addSnapshotListener(on: DispatchQueue(label: "news")) {
  snapshot, _ in
  seen.set(snapshot?["n"] as? Int ?? 0)
  arrived.signal()
}
func waitForNews() { arrived.wait() }
waitForNews()
let numbers = Shared(0)
func next() -> Int {
  numbers.update { $0 += 1 }
  return numbers.value
}
var position: Int64 = 0
try peer.commit("news", body)
try listening.news(after: &position)

/// The connection that writes is another one: both go at once.
@MainActor func writeAndWaitForNews() throws {
  nonisolated(unsafe) let peer = peer  // Unchecked: used here only, until the group ends.
  let group = DispatchGroup()
  DispatchQueue.global().async(group: group) { try? peer.commit("news", body) }
  try listening.news(after: &position)
  group.wait()
}

for round in 0...rounds {
  var times: [Double] = []
  times.append(try await measure { _ = try await own.document("c/1").getDocument().data() })
  times.append(try await measure { _ = try peer.get("1") })
  times.append(
    try await measure {
      _ = try await own.collection("q").getDocuments().documents
    }
  )
  times.append(try await measure { _ = try peer.query("q") })
  times.append(
    try await measure { try await own.document("c/1").setData(["n": next(), "text": text]) })
  times.append(try await measure { try peer.commit("1", body) })
  times.append(
    try await measure {
      _ = try await own.runTransaction { transaction, _ in
        let n = try? transaction.getDocument(own.document("c/1"))["n"] as? Int
        transaction.setData(
          ["n": (n ?? 0) + 1, "text": text], forDocument: own.document("c/1"))
        return nil
      }
    })
  times.append(try await measure { try peer.transaction("1", body) })
  times.append(
    try await measure {
      let number = next()
      own.document("c/news").setData(["n": number, "text": text])
      while seen.value != number { waitForNews() }
    })
  times.append(
    try await measure { try writeAndWaitForNews() })
  for isOwn in [true, false] {
    let before = processorTime()
    let rate =
      isOwn
      ? try await ownWriters(64, ownNear, seconds: 2)
      : try peerWriters(64, url("figures_peer"), body, seconds: 2)
    times.append(1e6 / rate)
    processor[isOwn ? 0 : 1].append((processorTime() - before) / (rate * 2))
  }
  times.append(
    try await measure {
      _ = try await own.collection("q").getDocuments().documents.map { $0.data() }
    }
  )
  // The first makes connections and prepares statements.
  if round > 0 { for (index, time) in times.enumerated() { figures[index].append(time) } }
}
registration.remove()
row("get", figures[0], figures[1], unit: "µs")
row("query of 100", figures[2], figures[3], unit: "µs")
// The program by hand does not decode what it reads.
row("the same, decoded", figures[12], figures[3], unit: "µs")
row("commit", figures[4], figures[5], unit: "µs")
row("transaction", figures[6], figures[7], unit: "µs")
row("write to news", figures[8], figures[9], unit: "µs")
row(
  "64 writers", figures[10].map { 1e6 / $0 }, figures[11].map { 1e6 / $0 }, unit: "commits/s")
row("their processor time, without the server's", processor[0], processor[1], unit: "µs/commit")
exit(0)
