import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

@Suite struct BlockingTests {
  /// As many as block every thread of Swift's concurrency many times over.
  @Test(.timeLimit(patience))
  func `64 tasks that save synchronously at once end`() async throws {
    let database = try TemporaryDatabase()
    let firestore = database.firestore
    let saved = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<64 {
        group.addTask {
          try Self.work(task, in: firestore)
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(saved == 64 * 3)
    let count = try await ParseSwift.withFirestore(firestore) { try await Book.query().count() }
    #expect(count == 64 * 3)
  }

  /// Not asynchronous, so that the synchronous forms are meant.
  private static func work(_ task: Int, in firestore: Firestore) throws -> Int {
    try ParseSwift.withFirestore(firestore) {
      for number in 0..<3 {
        let book = try Book(title: "\(task) \(number)", isbn: ISBN(value: "\(number)")).save()
        let author = try Author(name: "author \(task)").save()
        try book.relation?.add("authors", objects: [author]).save()
        #expect(try Author.queryRelations("authors", parent: book).count() == 1)
      }
      return 3
    }
  }
}
