import Foundation
import Hearth

extension HearthTestHelper {
  /// <name> <tasks>: for each line on its input, as many tasks write the line as a value that is unique.
  /// Says how many could.
  func raceForValues() async throws {
    let db = try open(.unsafeWithoutFlushing)
    let (name, tasks) = (arguments[0], number(1))
    Self.say("ready")
    while let value = readLine() {
      let wins = try await withThrowingTaskGroup(of: Int.self) { group in
        for task in 0..<tasks {
          group.addTask {
            do {
              try await db.document("users/\(name)-\(value)-\(task)").setData(["email": value])
              return 1
            } catch FirestoreErrorCode.alreadyExists {
              return 0
            }
          }
        }
        return try await group.reduce(0, +)
      }
      Self.say("\(wins)")
    }
    try await db.terminate()
  }

  /// <name> <tasks>: for each line on its input, every fourth task deletes the author with this id, and
  /// the others store books that refer to it, in each form of a write. Says how many books were stored,
  /// and how many deletions succeeded.
  func raceForReferences() async throws {
    let db = try open(.unsafeWithoutFlushing)
    let (name, tasks) = (arguments[0], number(1))
    Self.say("ready")
    while let value = readLine() {
      let author = db.document("authors/\(value)")
      let first = Int(value) ?? 0
      var (stored, deleted) = (0, 0)
      await withTaskGroup(of: (Int, Int).self) { group in
        for task in 0..<tasks {
          group.addTask {
            let book = db.document("books/\(name)-\(value)-\(task)")
            do {
              switch (first + task) % 4 {
              case 0:
                try await author.delete()
                return (0, 1)
              case 1: try await book.setData(["author": author])
              case 2:
                try await db.batch().setData(["n": task], forDocument: book)
                  .updateData(["author": author], forDocument: book).commit()
              default:
                try await Self.runTransaction(in: db) { transaction in
                  transaction.setData(["author": author], forDocument: book)
                }
              }
              return (1, 0)
            } catch {
              if !(FirestoreErrorCode.failedPrecondition ~= error) { Self.say("\(error)") }
              return (0, 0)
            }
          }
        }
        for await (one, other) in group {
          stored += one
          deleted += other
        }
      }
      Self.say("\(stored) \(deleted)")
    }
    try await db.terminate()
  }

  /// Writes families of documents, moves a unique value between them, and deletes them by rules.
  ///
  /// Says `made n` and `deleted n` for each that was acknowledged.
  func constrainUntilKilled() async throws {
    let db = try open()
    let first = number(0)
    try await db.indexes.declare(FirestoreIndex(unique: "books", .ascending("code")))
    try await db.references.declare(
      FirestoreReferenceRule(
        "books", field: "author", to: "authors", onDelete: .cascade, mustExist: true),
      FirestoreReferenceRule(
        "reviews", field: "book", to: "books", onDelete: .cascade, mustExist: true),
      FirestoreReferenceRule(
        "shelves", arrayField: "books", to: "books", onDelete: .nullify, mustExist: true))
    Self.say("ready")
    var number = first
    while true {
      number += 1
      let author = db.document("authors/\(number)")
      let batch = db.batch().setData(["n": number], forDocument: author)
      var books: [DocumentReference] = []
      for index in 0..<8 {
        let book = db.document("books/\(number)-\(index)")
        books.append(book)
        // The first book of each family takes the one code from that of the family before.
        if index == 0, number > first + 1 {
          batch.setData(
            ["code": "\(number - 1)", "author": db.document("authors/\(number - 1)")],
            forDocument: db.document("books/\(number - 1)-0"))
        }
        batch.setData(
          ["code": index == 0 ? "top" : "\(number)-\(index)", "author": author],
          forDocument: book)
        batch.setData(["book": book], forDocument: db.document("reviews/\(number)-\(index)"))
      }
      batch.setData(["books": books], forDocument: db.document("shelves/\(number)"))
      try await batch.commit()
      Self.say("made \(number)")
      guard number % 2 == 0, number > first + 2 else { continue }
      try await db.document("authors/\(number - 2)").delete()
      Self.say("deleted \(number - 2)")
    }
  }
}
