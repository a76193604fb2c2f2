import ArgumentParser
import Foundation
import Hearth

struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Show a document or a collection, and every change of it as it is committed.",
    discussion: "Changes of all processes count. Ends with ^C, or after --count snapshots.")

  @OptionGroup var file: DatabaseArgument
  @Argument(help: "A path: books/dune is a document, books a collection.") var path: String
  @Option(help: "End after so many snapshots; the first is what is there at the beginning.")
  var count: Int?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    if let count, count < 1 { throw ValidationError("--count is 1 or more.") }
  }

  func run() async throws {
    try await file.open(.reading) { db in
      switch Place(path, in: db) {
      case .document(let document): try await watch(document)
      case .collection(let collection): try await watch(collection)
      }
    }
  }

  private func watch(_ document: DocumentReference) async throws {
    var told = 0
    var existed = false
    for try await snapshot in document.snapshots {
      let kind: Kind = !snapshot.exists ? .removed : existed ? .modified : .added
      if told > 0 || snapshot.exists { tell(kind, snapshot) }
      if told == 0, !snapshot.exists { note("\(path) is not there yet; watching for it") }
      existed = snapshot.exists
      told += 1
      if told == count { return }
    }
  }

  private func watch(_ collection: CollectionReference) async throws {
    var told = 0
    for try await snapshot in collection.snapshots {
      for change in snapshot.documentChanges {
        let kind: Kind =
          switch change.type {
          case .added: .added
          case .modified: .modified
          case .removed: .removed
          }
        tell(kind, change.document)
      }
      if told == 0 { note("\(Figure.count(snapshot.count, "document")) in \(path); watching") }
      told += 1
      if told == count { return }
    }
  }

  private enum Kind: String {
    case added, modified, removed

    var mark: String {
      switch self {
      case .added: "+"
      case .modified: "~"
      case .removed: "-"
      }
    }
  }

  private func tell(_ kind: Kind, _ document: DocumentSnapshot) {
    let path = document.reference.path
    if output.json {
      var members = [
        JSON.Member("change", .string(kind.rawValue)), JSON.Member("path", .string(path)),
      ]
      if kind != .removed, let data = document.data() {
        members.append(JSON.Member("fields", JSON(fields: data)))
      }
      Terminal.print(JSON.object(members).text)
    } else {
      let rest = kind == .removed ? "" : document.line(width: Terminal.width - path.count - 4)
      Terminal.print("\(kind.mark) \(Terminal.bold(path))  \(rest)")
    }
  }

  private func note(_ sentence: String) {
    if !output.json { Terminal.print(Terminal.faint("(\(sentence))")) }
  }
}
