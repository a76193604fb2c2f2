import Foundation
import Hearth
import HearthTesting
import ParseSwift
import Testing

@Suite struct SchemaTests {
  @Test func `a schema lists columns, pointers and relations`() async throws {
    let database = try TemporaryDatabase()
    try await ParseSwift.withFirestore(database.firestore) {
      let before = try await ParseSwift.schema(of: Book.self)
      #expect(
        before.columns["isbn"] == "Pointer<ISBN>" && before.columns["genre"] == "Pointer<Genre>")
      #expect(before.columns["authors"] == nil)
      let author = try await Author(name: "Ann").save()
      let publisher = try await Publisher(name: "Chilton").save()
      let book = try await Book(title: "Dune", publishingYear: 1965, isbn: ISBN(value: "1")).save()
      _ = try await book.relation?.add("authors", objects: [author]).save()
      _ = try await book.relation?.add("publishers", objects: [publisher]).save()
      let schema = try await ParseSwift.schema(of: Book.self)
      #expect(
        schema.columns == [
          "objectId": "String", "createdAt": "Date", "updatedAt": "Date", "ACL": "ACL",
          "title": "String", "publishingYear": "Number", "genre": "Pointer<Genre>",
          "isbn": "Pointer<ISBN>", "authors": "Relation<Author>",
          "publishers": "Relation<Publisher>",
        ])
      #expect(
        schema.description.hasPrefix(
          "Book\n  ACL             ACL\n  authors         Relation<Author>\n"))
      var acl = ParseACL()
      acl.publicRead = true
      let point = try ParseGeoPoint(latitude: 1, longitude: 2)
      _ = try await Place(
        ACL: acl, name: "x", number: 1, tags: ["a"], point: point, visited: Date(),
        author: author, isOpen: true, token: UUID()
      ).save()
      let types = try await ParseSwift.schema(of: Place.self).columns
      #expect(types["point"] == "GeoPoint" && types["area"] == "Polygon")
      #expect(types["authors"] == "Array" && types["pointer"] == "Pointer<Genre>")
      #expect(types["isOpen"] == "Boolean" && types["token"] == "String")
      let all = try await ParseSwift.schemas()
      #expect(all.map(\.className) == ["Author", "Book", "ISBN", "Place", "Publisher"])
      let stored = try #require(all.first { $0.className == "Place" }).columns
      #expect(
        stored == [
          "objectId": "String", "createdAt": "Date", "updatedAt": "Date", "ACL": "ACL",
          "name": "String", "number": "Number", "tags": "Array", "point": "GeoPoint",
          "visited": "Date", "author": "Pointer<Author>", "isOpen": "Boolean", "token": "String",
        ])
    }
  }
}
