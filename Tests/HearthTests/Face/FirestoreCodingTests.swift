import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct FirestoreCodingTests {
  struct Book: Codable, Equatable {
    @DocumentID var id: String?
    var title: String
    var pages: Int
    var bought: Date
    var author: DocumentReference
    var origin: GeoPoint
    @ServerTimestamp var seen: Timestamp?
    var nested: [String: [Int]]
  }

  @Test func `a model goes to a dictionary and comes back`() throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/coding.hearth")
    let book = Book(
      title: "Dune", pages: 412, bought: Date(timeIntervalSince1970: 1_600_000_000.25),
      author: db.document("people/frank"), origin: GeoPoint(latitude: 1, longitude: 2),
      seen: nil, nested: ["a": [1, 2]])
    var fields = try Firestore.Encoder().encode(book)
    #expect(fields["title"] as? String == "Dune")
    #expect(fields["pages"] as? Int == 412)
    #expect(fields["bought"] is Timestamp)
    #expect(fields["author"] as? DocumentReference == book.author)
    #expect(fields["seen"] is FieldValue)
    #expect(fields["id"] == nil)
    fields["seen"] = NSNull()
    let read = try Firestore.Decoder().decode(
      Book.self, from: fields, in: db.document("books/dune"))
    var expected = book
    expected.id = "dune"
    #expect(read == expected)
  }

  @Test func `any value can be decoded, and null is nil`() throws {
    let decoder = Firestore.Decoder()
    #expect(try decoder.decode([Int].self, from: [1, 2, 3]) == [1, 2, 3])
    #expect(try decoder.decode([[Int]].self, from: [[1], [2, 3]]) == [[1], [2, 3]])
    #expect(try decoder.decode(String.self, from: "a") == "a")
    #expect(try decoder.decode(Int?.self, from: NSNull()) == nil)
    #expect(throws: DecodingError.self) { try decoder.decode(Int.self, from: true) }
    #expect(throws: DecodingError.self) { try decoder.decode(Book.self, from: NSNull()) }
  }
}
