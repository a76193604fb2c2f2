import CStorageSpy
import Foundation
import Hearth

/// The other process in the tests of `Hearth`.
///
///     hearth-test-helper <command> <path or URL> [<argument> …]
///
/// Speaks in lines on its output, and waits for lines on its input where a command says so.
@main
struct HearthTestHelper {
  let path: String
  let arguments: [String]

  static func main() async {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count >= 2 else { exit(64) }
    let helper = HearthTestHelper(path: words[1], arguments: Array(words.dropFirst(2)))
    do {
      switch words[0] {
      case "write-until-killed": try await helper.writeUntilKilled()
      case "meet-fate": try await helper.meetFate()
      case "flushes": try await helper.countFlushes()
      case "copy": try await helper.copy()
      case "follow-definitions": try await helper.followDefinitions()
      case "sweep": try await helper.sweep()
      case "tape": try await helper.tape()
      case "write-for": try await helper.writeFor()
      case "commit-for": try helper.commitFor()
      case "index-until-killed": try await helper.indexUntilKilled()
      case "race-for-values": try await helper.raceForValues()
      case "race-for-references": try await helper.raceForReferences()
      case "constrain-until-killed": try await helper.constrainUntilKilled()
      case "save-graphs-until-killed": try helper.saveGraphsUntilKilled()
      case "create-films-until-killed": try await helper.createFilmsUntilKilled()
      case "run-mutations": try await helper.runMutations()
      case "serve-operations": try helper.serveOperations()
      case "fill-with-objects": try helper.fillWithObjects()
      case "fill-with-films": try await helper.fillWithFilms()
      case "follow-until-killed": try await helper.followUntilKilled()
      case "fill": try await helper.fill()
      case "read-on-full-disk": try helper.readOnFullDisk()
      case "fork": try await helper.forkAChild()
      case "transact": try await helper.transact()
      case "bank": try await helper.bank()
      case "increment": try await helper.increment()
      case "memory": try await helper.useMemory()
      case "default-location": try await helper.useDefaultLocation()
      case "be-replaced": try await helper.beReplaced()
      case "write-once": try await helper.writeOnce()
      case "restore-until-killed": try await helper.restoreUntilKilled()
      case "hostile": try await helper.openHostile()
      case "write-until-refused": try await helper.writeUntilRefused()
      case "listen": try await helper.listen()
      default: exit(64)
      }
    } catch let error as NSError {
      say("error \(error.code) \(error.localizedDescription)")
      exit(1)
    }
  }

  func number(_ index: Int) -> Int { index < arguments.count ? Int(arguments[index]) ?? 0 : 0 }

  func open(_ durability: FirestoreSettings.Durability = .full) throws -> Firestore {
    if path.contains("://") { return try Firestore.open(path) }
    let settings = FirestoreSettings()
    settings.durability = durability
    return try Firestore.open(at: path, settings: settings)
  }

  /// In one call and past any buffer, since a test may kill us.
  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(1, bytes, bytes.count)
  }
}
