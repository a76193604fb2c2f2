import Foundation
import Hearth
import TestSupport
import Testing

/// A file that is replaced, overwritten or removed while processes have it open.
///
/// The promise: no write that was handed over after the replacement returned is acknowledged and missing, and
/// the file that is at the path then is whole.
@Suite(.ownThreads) struct ReplacedFileTests {
  enum Replacement: String, CaseIterable {
    case move, copyOver, remove, retargetLink, removeLock, removePresence, removeBoth
  }

  static var rounds: Int { Soak.isOn ? 100 : 2 }

  @Test(
    arguments: Replacement.allCases,
    [["busy"], ["busy", "busy"], ["busy", "writer", "listener"], ["listener"]])
  func `no write after a replacement is acknowledged and missing`(
    _ replacement: Replacement, _ roles: [String]
  ) async throws {
    var acknowledged = 0
    var refused = 0
    var random = SeededGenerator(seed: 1)
    for _ in 0..<Self.rounds {
      let world = try await World(replacement)
      // A commit that has begun when `cp` begins may end in the new file: there only those write that are asked.
      let isQuiet = replacement == .copyOver
      let helpers = try roles.map {
        try Helper("be-replaced", world.path, isQuiet && $0 == "busy" ? "writer" : $0)
      }
      for helper in helpers { #expect(helper.line() == "ready") }
      // The backup is behind the file.
      let before = try Helper("write-once", world.path, "before").lines()
      #expect(before == ["acknowledged"])
      random.pause(below: 7000)
      try world.replace()
      var known: [String] = []
      func note(_ id: String, _ line: String?) {
        // One that the system has killed tells nothing: a file that is overwritten is gone under its map.
        if line == "acknowledged" {
          known.append(id)
          acknowledged += 1
        } else {
          refused += 1
        }
      }
      for step in 0..<3 {
        for (number, helper) in helpers.enumerated() {
          helper.say("write h\(number)-\(step)")
          let line = helper.line()
          note("h\(number)-\(step)", line)
          #expect(line?.hasPrefix("error") != true)
        }
      }
      let newcomer = try Helper("write-once", world.path, "n").lines()
      note("n", newcomer.last)
      if newcomer.last != "acknowledged" {
        #expect(newcomer.last?.contains("open") == true, "\(newcomer)")
      }
      for helper in helpers {
        helper.say("end")
        _ = helper.lines()
      }
      if replacement == .copyOver {
        // The newcomer may be alone by then: reading what was overwritten has ended the others.
        #expect(known.allSatisfy { $0 == "n" }, "Overwritten, and acknowledged: \(known)")
      }
      try await world.check(known)
    }
    print("\(replacement), \(roles): \(acknowledged) acknowledged, \(refused) refused")
  }

  @Test func `a restore cut at any moment leaves the old file or the restored one`() async throws {
    let world = try await World(.move)
    let old = try await FirestoreFile(at: world.path).check().documents
    try await world.write(60)
    let changed = try await FirestoreFile(at: world.path).check().documents
    #expect(old != changed)
    var seen: Set<Int> = []
    let rounds = Soak.isOn ? 200 : 12
    // On a busy machine each may be killed too late, when the file is restored.
    for round in 0..<400 where round < rounds || seen.count < 2 {
      let helper = try Helper("restore-until-killed", world.path, world.backup)
      #expect(helper.line() == "ready")
      // However slow the disk is, some of them have restored the file.
      if round % 3 == 2 { #expect(helper.line() == "restored") }
      helper.kill(after: round * 7919 % 60_000)
      #expect(helper.wasKilled)
      let report = try await FirestoreFile(at: world.path).check()
      #expect(report.isIntact, "\(report.problems)")
      #expect([old, changed].contains(report.documents))
      seen.insert(report.documents)
      if report.documents == old { try await world.write(60) }
    }
    #expect(seen.count == 2, "Both were met: \(seen)")
  }

  @Test func `a restored file takes no tokens from before`() async throws {
    let world = try await World(.move)
    var db = try Firestore.open(at: world.path)
    let token = try await db.changeToken()
    let refusal = await code(of: {
      try await FirestoreFile(at: world.path).restore(from: world.backup)
    })
    #expect(refusal == .failedPrecondition)
    try await db.terminate()
    try await onceAlone {
      try await FirestoreFile(at: world.path).restore(from: world.backup)
    }
    db = try Firestore.open(at: world.path)
    #expect(await code(of: { for try await _ in db.changes(since: token) {} }) == .outOfRange)
    let newToken = try await db.changeToken()
    #expect(newToken != token)
    let options = SnapshotListenOptions().resuming(from: token)
    let events = AsyncStream<Bool> { stream in
      db.collection("books").addSnapshotListener(options: options) { snapshot, error in
        if error == nil { stream.yield(snapshot?.isFullResync == true) }
      }
    }
    let isFullResync = await events.first { _ in true }
    #expect(isFullResync == true)
    try await db.terminate()
    // And once more: its own tokens are of the past then.
    try await onceAlone {
      try await FirestoreFile(at: world.path).restore(from: world.backup)
    }
    db = try Firestore.open(at: world.path)
    for old in [token, newToken] {
      #expect(await code(of: { for try await _ in db.changes(since: old) {} }) == .outOfRange)
    }
    try await db.terminate()
  }
}

private final class World: Sendable {
  private let folder = TemporaryFolder()
  private let replacement: ReplacedFileTests.Replacement
  var path: String { folder.path + "/x.hearth" }
  var backup: String { folder.path + "/backup.hearth" }
  private let real: String

  init(_ replacement: ReplacedFileTests.Replacement) async throws {
    self.replacement = replacement
    let isLink = replacement == .retargetLink
    real = folder.path + (isLink ? "/a.hearth" : "/x.hearth")
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: real)
    }
    let db = try open()
    for number in 0..<20 { try await db.document("books/\(number)").setData(["n": number]) }
    try await db.maintenance.backup(to: backup)
    try await db.terminate()
  }

  private func open() throws -> Firestore {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    return try Firestore.open(at: path, settings: settings)
  }

  func write(_ count: Int) async throws {
    let db = try open()
    for number in 0..<count { try await db.document("more/\(number)").setData(["n": number]) }
    try await db.terminate()
  }

  func replace() throws {
    func run(_ words: String...) throws {
      let process = try Process.run(URL(fileURLWithPath: "/usr/bin/env"), arguments: words)
      process.waitUntilExit()
      try #require(process.terminationStatus == 0)
    }
    switch replacement {
    case .move: try run("mv", backup, path)
    case .copyOver: try run("cp", backup, path)
    case .remove: try run("rm", path)
    case .retargetLink: try run("ln", "-sfn", backup, path)
    case .removeLock: try run("rm", path + "-lock")
    case .removePresence: try run("rm", path + "-presence")
    case .removeBoth: try run("rm", path + "-lock", path + "-presence")
    }
  }

  /// What is at the path is whole, and has what was acknowledged.
  func check(_ acknowledged: [String]) async throws {
    guard FileManager.default.fileExists(atPath: path) else {
      #expect(acknowledged.isEmpty, "The file is gone, and had \(acknowledged)")
      return
    }
    let report = try await FirestoreFile(at: path).check()
    #expect(report.isIntact, "\(report.problems)")
    let db = try open()
    for id in acknowledged {
      let isThere = try await db.document("after/\(id)").getDocument().exists
      #expect(isThere, "\(id) was acknowledged")
    }
    // What was in the backup is in it still.
    if replacement != .remove {
      #expect(try await db.collection("books").getDocuments().count == 20)
    }
    try await db.terminate()
  }
}
