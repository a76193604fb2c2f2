import ArgumentParser
import Foundation
import Synchronization
import Workloads

extension Bench {
  /// The most private memory that a process had while it loaded books, and while another read them.
  func memory() async throws {
    guard wants("memory-load-vs-grdb", "memory-read-vs-grdb") else { return }
    let (own, peer) = (path("memory"), path("memory"))
    for step in ["load", "read"] {
      let ownBytes = try child(HearthEngine.name, step, own)
      let peerBytes = try child(GRDBEngine.name, step, peer)
      let books = memoryBooks.formatted(.number.locale(Locale(identifier: "en_US")))
      tell(
        Figure(
          name: "memory-\(step)-vs-grdb", work: "memory, \(books) books, \(step)",
          against: GRDBEngine.name, ratios: [peerBytes / ownBytes],
          aim: step == "load" ? 1.0 / 3 : 1,
          own: ownBytes / 1e6, peer: peerBytes / 1e6, unit: "MB"))
    }
  }

  private func child(_ engine: String, _ step: String, _ path: String) throws -> Double {
    let process = Process()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["memory-child", engine, step, path, String(memoryBooks)]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard let bytes = Double(String(decoding: data, as: UTF8.self).dropLast()) else {
      throw POSIXError(.ECHILD)
    }
    return bytes
  }
}

/// A process of its own, so that its memory is that of one engine only.
struct MemoryChild: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "memory-child", abstract: "Measures one engine's memory.", shouldDisplay: false)

  @Argument var engine: String
  @Argument var step: String
  @Argument var path: String
  @Argument var books: Int

  func run() async throws {
    let meter = MemoryMeter()
    if engine == HearthEngine.name {
      try await measure(HearthEngine.self)
    } else {
      try await measure(GRDBEngine.self)
    }
    print(meter.stop())
  }

  private func measure<Peer: Engine>(_ type: Peer.Type) async throws {
    let engine = try await Peer(path: path)
    if step == "load" {
      try await engine.load(0..<books, group: 1000)
    } else {
      var digest = Digest()
      for number in stride(from: 0, to: books, by: 7) {
        digest.add(try await engine.get(Book.id(number)))
      }
      for author in 0..<min(books / 100, 500) {
        digest.add(try await engine.books(by: Book.author(author)))
      }
      precondition(digest != Digest())
    }
    try await engine.close()
  }
}

/// Looks at the process's private memory (the kernel's `RssAnon`) every few milliseconds.
private final class MemoryMeter: Sendable {
  private let state = Mutex((most: 0, isStopped: false))

  init() {
    Thread.detachNewThread { [self] in
      while !state.withLock(\.isStopped) {
        let now = Self.privateBytes
        state.withLock { $0.most = max($0.most, now) }
        usleep(5000)
      }
    }
  }

  /// The most so far.
  func stop() -> Int {
    state.withLock { state in
      state.isStopped = true
      return max(state.most, Self.privateBytes)
    }
  }

  private static var privateBytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return (line?.split(separator: " ").dropLast().last).flatMap { Int($0) }.map { $0 * 1024 } ?? 0
  }
}
