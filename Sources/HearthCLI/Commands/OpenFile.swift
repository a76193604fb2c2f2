import ArgumentParser
import Foundation
import Hearth

/// The file that a command is about.
struct DatabaseArgument: ParsableArguments {
  @Argument(help: "The database file.", completion: .file(extensions: ["hearth"]))
  var database: String

  enum Access { case reading, writing, making }

  /// Opens the file, runs `body`, and closes it. Only `making` makes a file that is not there.
  func open(_ access: Access, _ body: (Firestore) async throws -> Void) async throws {
    guard access == .making || FileManager.default.fileExists(atPath: database) else {
      throw Failure("There is no database at \(database).")
    }
    let settings = FirestoreSettings()
    settings.isReadOnly = access == .reading
    let db = try Firestore.open(at: database, settings: settings)
    do {
      try await body(db)
    } catch {
      try? await db.terminate()
      throw error
    }
    try await db.terminate()
  }
}

/// Whether output is for people or for programs.
struct OutputOptions: ParsableArguments {
  @Flag(help: "One JSON object a line, for scripts.")
  var json = false
}

/// A document's or a collection's path: even and odd numbers of segments tell them apart.
enum Place {
  case document(DocumentReference)
  case collection(CollectionReference)

  init(_ path: String, in db: Firestore) {
    let count = path.split(separator: "/").count
    self = count.isMultiple(of: 2) ? .document(db.document(path)) : .collection(db.collection(path))
  }
}

extension DocumentSnapshot {
  /// `{"path": …, "fields": …, "createTime": …, "updateTime": …}`; fields are null if there is none.
  var json: JSON {
    var members = [JSON.Member("path", .string(reference.path))]
    members.append(JSON.Member("fields", data().map(JSON.init(fields:)) ?? .null))
    if let createTime { members.append(JSON.Member("createTime", .string(createTime.iso8601))) }
    if let updateTime { members.append(JSON.Member("updateTime", .string(updateTime.iso8601))) }
    return .object(members)
  }

  /// All fields on one line, at most so wide.
  func line(width: Int) -> String {
    guard let data = data() else { return "" }
    return JSON(fields: data).fieldsBrief.clipped(to: width)
  }
}

extension String {
  /// Cut where it is too wide, with a mark; at least a few letters stay.
  func clipped(to width: Int) -> String {
    let width = max(width, 8)
    return count > width ? prefix(width - 1) + "…" : self
  }

  func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }

  func leftPadded(to width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
}
