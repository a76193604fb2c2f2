import Foundation
import Hearth
import TestSupport
import Testing

/// Damaged and hostile files through every command, and through open, read, write and listen.
///
/// LMDB maps the file and believes its pages. Whatever is looked at with `pread` ends with an error and never
/// with a signal: check, repair, export, and everything after an opening with the full validation.
///
/// A soak runs every command on every kind. An ordinary run takes some of the kinds, and the commands in turns.
@Suite(.ownThreads) struct HostileFileTests {
  /// What the ordinary opening does not notice, and LMDB may not survive: what it would take reading the whole
  /// file to see. Nothing may be added.
  static let knownToEndTheProcess = [
    // A page below the first one of its table.
    "leaf: ", "last leaf: ", "branch: its own child", "branch: one child twice",
    // A large value that does not fill the pages it names.
    "large value: ",
    // A page that is in use and free, too.
    "free pages: number 2",
  ]

  /// All of them, or one that is another one for the next number.
  private func chosen<Command>(of commands: [Command], _ number: Int) -> [Command] {
    Soak.isOn || commands.isEmpty ? commands : [commands[number % commands.count]]
  }

  @Test func `no kind of damage ends a process that validates the pages`() async throws {
    let world = try await HostileWorld()
    let hasCommands = try world.hasCommands()
    let ends = try await world.forEachKind { number, kind in
      let path = try world.file(of: kind)
      let outcome = try world.run("hostile", path, ["validating"])
      var ends = outcome.isSignal ? ["\(kind.name): \(outcome)"] : []
      guard hasCommands, Soak.isOn || number % 2 == 0 else { return ends }
      for command in chosen(of: world.safeCommands(path), number / 2) {
        let outcome = try world.hearth(command)
        if outcome.isSignal { ends.append("\(kind.name), \(command[0]): \(outcome)") }
      }
      return ends
    }
    print("\(world.kinds.count) kinds, with validation: \(ends.count) signals")
    #expect(ends.isEmpty, "\(ends)")
  }

  @Test func `the ordinary opening ends a process for no other kinds than those that are known`()
    async throws
  {
    let world = try await HostileWorld()
    let commands = try world.hasCommands() ? world.commands : []
    let ended = try await world.forEachKind { number, kind in
      guard Soak.isOn || number % 4 == 0 else { return [] }
      var outcomes = [try world.run("hostile", try world.file(of: kind), [])]
      for command in chosen(of: commands, number / 4) {
        outcomes.append(try world.hearth(command(try world.file(of: kind))))
      }
      return outcomes.contains(where: \.isSignal) ? [kind.name] : []
    }
    print("\(world.kinds.count) kinds, ordinary opening: \(ended.sorted()) end the process")
    let unknown = ended.filter { kind in
      !Self.knownToEndTheProcess.contains { kind.hasPrefix($0) }
    }
    #expect(unknown.isEmpty, "\(unknown)")
  }

  @Test func `before LMDB ends the process, the log has the file and the remedies`() async throws {
    let world = try await HostileWorld()
    let known = world.kinds.filter { kind in
      Self.knownToEndTheProcess.contains { kind.name.hasPrefix($0) }
    }
    var reports = 0
    for kind in known {
      let path = try world.file(of: kind)
      let outcome = try world.run("hostile", path, [])
      guard outcome.isSignal, outcome.output.contains("Assertion '") else { continue }
      reports += 1
      let line = outcome.output.split(separator: "\n").first {
        $0.hasPrefix("Hearth ends this process")
      }
      let text = String(line ?? "")
      let named = path.replacingOccurrences(of: "//", with: "/")
      #expect(text.contains("hearth check \(named)"), "\(kind.name): \(outcome)")
      #expect(text.contains("hearth restore BACKUP \(named)"), "\(kind.name): \(outcome)")
      #expect(text.contains("LMDB says: mdb.c:"), "\(kind.name): \(outcome)")
    }
    print("\(known.count) kinds that may end the process, \(reports) by an assertion")
    #expect(reports > 0)
  }

  @Test func `a whole file passes the validation`() async throws {
    let world = try await HostileWorld()
    let path = try world.file(of: HostileWorld.Kind(name: "whole") { _, _ in })
    let outcome = try world.run("hostile", path, ["validating"])
    #expect(outcome.output.contains("opened"), "\(outcome)")
    #expect(!outcome.output.contains("error"), "\(outcome)")
  }
}
