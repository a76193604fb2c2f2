import Foundation
import Hearth
import ParseSwift

struct ParseAuthor: ParseObject {
  static var className: String { "authors" }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var country: String?
  var born: Int?
}

struct ParseBook: ParseObject {
  static var className: String { "books" }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var title: String?
  var summary: String?
  var isbn: String?
  var genre: String?
  var pages: Int?
  var year: Int?
  var author: ParseAuthor?
  var position: ParseGeoPoint?
}

/// The same library as Parse objects, with the synchronous forms, as GRDB's are.
struct ParseLibrary {
  init(_ hearth: HearthLibrary) { ParseSwift.initialize(hearth.db) }

  func pageWithAuthors(from title: String) throws -> Int {
    try ParseBook.query("title" >= title).order([.ascending("title")]).limit(20).include("author")
      .find().reduce(0) { $0 + ($1.pages ?? 0) + ($1.author?.born ?? 0) }
  }

  func books(of author: Int) throws -> Int {
    let author = Pointer<ParseAuthor>(objectId: ID.author(author))
    return try ParseBook.query("author" == author).order([.ascending("title")]).limit(20).find()
      .reduce(0) { $0 + ($1.pages ?? 0) }
  }

  func count(of author: Int) throws -> Int {
    let author = Pointer<ParseAuthor>(objectId: ID.author(author))
    return try ParseBook.query("author" == author).count()
  }
}
