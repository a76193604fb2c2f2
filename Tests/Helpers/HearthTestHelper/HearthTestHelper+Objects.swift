import Foundation
import Hearth
import ParseSwift

extension HearthTestHelper {
  struct Author: ParseObject {
    var objectId: String?
    var createdAt: Date?
    var updatedAt: Date?
    var ACL: ParseACL?
    var originalData: Data?

    var name: String?
    var agent: Agent?
  }

  struct Agent: ParseObject {
    var objectId: String?
    var createdAt: Date?
    var updatedAt: Date?
    var ACL: ParseACL?
    var originalData: Data?

    var name: String?
  }

  struct Book: ParseObject {
    var objectId: String?
    var createdAt: Date?
    var updatedAt: Date?
    var ACL: ParseACL?
    var originalData: Data?

    var number: Int?
    var authors: [Author]?
    var main: Author?
  }

  /// Saves books with four authors, of whom each has an agent; relates each book to the one before.
  ///
  /// Says `saved n` and `related n` for each that was acknowledged.
  func saveGraphsUntilKilled() throws {
    ParseSwift.initialize(try open())
    Self.say("ready")
    var number = number(0)
    var before: Book?
    while true {
      number += 1
      func author(_ index: Int) -> Author {
        Author(name: "\(number)-\(index)", agent: Agent(name: "\(number)-\(index)"))
      }
      let book = try Book(
        number: number, authors: (0..<3).map(author), main: author(3)
      ).save()
      Self.say("saved \(number)")
      if let before {
        try book.relation?.add("precursors", objects: [before]).save()
        Self.say("related \(number)")
      }
      before = book
    }
  }

  /// <bytes that the file may have>: saves authors until it fails, and reads them.
  func fillWithObjects() throws {
    signal(SIGXFSZ, SIG_IGN)
    limitFiles(to: number(0))
    ParseSwift.initialize(try open())
    var saved = 0
    do {
      while saved < 10_000 {
        _ = try Author(name: String(repeating: "x", count: 20_000)).save()
        saved += 1
      }
    } catch {
      Self.say("failed \(error.code.rawValue) \(error.message)")
    }
    let count = try Author.query().count()
    Self.say("reads \(saved > 10 && (count == saved || count == saved + 1))")
    limitFiles(to: 1 << 30)
    _ = try Author(name: "later").save()
    Self.say("writes again")
  }
}
