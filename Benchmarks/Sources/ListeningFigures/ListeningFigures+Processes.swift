import Foundation
import Hearth

/// Listens in a process of its own, and says when it was told.
///
///     ready ─▶ idle <ns of CPU in 5 s> ─▶ told <number> <when> … ─▶ end
enum OtherProcess {
  static let argument = "--listen"
  static let idleSeconds = 5

  static func run(_ path: String) async throws {
    let settings = FirestoreSettings()
    settings.isReadOnly = true
    let db = try Firestore.open(at: path, settings: settings)
    let (first, last) = (Bell(), Bell())
    db.document("books/hot").addSnapshotListener(on: DispatchQueue(label: "told")) { snapshot, _ in
      let now = Machine.monotonicNanoseconds
      guard let number = snapshot?["n"] as? Int else { return }
      first.ring()
      say("told \(number) \(now)")
      if number < 0 { last.ring() }
    }
    await first.wait(for: 1)
    let begin = Machine.cpuNanoseconds
    try await Task.sleep(for: .seconds(idleSeconds))
    say("idle \(Machine.cpuNanoseconds - begin)")
    await last.wait(for: 1)
    try await db.terminate()
  }

  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}

extension ListeningFigures {
  func processes() async throws {
    for isFlushing in [true, false] {
      let settings = FirestoreSettings()
      if !isFlushing { settings.durability = .unsafeWithoutFlushing }
      let path = "\(folder)/\(UUID().uuidString).hearth"
      let db = try Firestore.open(at: path, settings: settings)
      let document = db.document("books/hot")
      try await document.setData(["n": 0])
      let other = Process()
      let output = "\(folder)/told"
      _ = FileManager.default.createFile(atPath: output, contents: nil)
      func lines() throws -> [[Substring]] {
        try String(contentsOfFile: output, encoding: .utf8).split(separator: "\n").map {
          $0.split(separator: " ")
        }
      }
      other.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
      other.arguments = [OtherProcess.argument, path]
      other.standardOutput = FileHandle(forWritingAtPath: output)
      try other.run()
      var idle: Double?
      while idle == nil {
        try await Task.sleep(for: .milliseconds(100))
        idle = try lines().first { $0[0] == "idle" }.flatMap { Double($0[1]) }
      }
      // In this process, too.
      let (first, arrivals) = (Bell(), Arrivals())
      document.addSnapshotListener(on: DispatchQueue(label: "inside")) { snapshot, _ in
        let now = Machine.monotonicNanoseconds
        if let number = snapshot?["n"] as? Int { arrivals.note(number, at: now) }
        first.ring()
      }
      await first.wait(for: 1)
      var (begins, ends): ([UInt64], [UInt64]) = ([], [])
      for number in 1...1000 {
        begins.append(Machine.monotonicNanoseconds)
        try await document.updateData(["n": number])
        ends.append(Machine.monotonicNanoseconds)
        try await Task.sleep(for: .milliseconds(2))
      }
      try await document.updateData(["n": -1])
      var told: [Int: UInt64] = [:]
      other.waitUntilExit()
      for words in try lines() where words[0] == "told" {
        if let number = Int(words[1]), number > 0 { told[number] = UInt64(words[2]) }
      }
      // By the number that was told: of two commits that are told together, the newer one arrived.
      func latencies(_ times: [Int: UInt64], since begins: [UInt64]) -> String {
        Text.spread(
          begins.enumerated().compactMap { index, begin in
            times[index + 1].map { Double($0) - Double(begin) }
          })
      }
      let here = arrivals.times.filter { $0.key > 0 }
      print(
        """
        processes\t\(isFlushing ? "flushing" : "not flushing")\ttold \
        \(told.count) of 1000, in this process \(here.count)\n\
        \tstart of the write → other process \(latencies(told, since: begins))
        \tits acknowledgement → other process \(latencies(told, since: ends))
        \tstart of the write → this process \(latencies(here, since: begins))
        \tan idle listener's process: CPU \
        \(Text.micros((idle ?? 0) / Double(OtherProcess.idleSeconds))) a second
        """)
      try await db.terminate()
    }
  }
}
