import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct ReadTransactionTests {
  private let folder = TemporaryFolder()
  private let db: Firestore

  init() throws { db = try Firestore.open(at: folder.path + "/sessions.hearth") }

  // MARK: Models that read and write while they are decoded

  /// Reads its author through the session it is decoded by.
  private struct Joined: Decodable {
    var title: String
    var author: String?

    static let session = CodingUserInfoKey(rawValue: "session")
    enum CodingKeys: CodingKey { case title, author }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      if let key = Self.session, let session = decoder.userInfo[key] as? ReadTransaction,
        let reference = try container.decodeIfPresent(DocumentReference.self, forKey: .author)
      {
        if let writing = session as? WriteTransaction {
          // Enough to move what the request keeps.
          for n in 0..<50 {
            try writing.setData(
              ["n": n], forDocument: reference.firestore.document("seen/\(UUID())"))
          }
        }
        author = try session.getDocument(reference, as: Name.self).name
      }
      // What is decoded is still there.
      title = try container.decode(String.self, forKey: .title)
    }

    struct Name: Decodable { var name: String }
  }

  private func decoder(_ session: ReadTransaction) throws -> Firestore.Decoder {
    let decoder = Firestore.Decoder()
    decoder.userInfo[try #require(Joined.session)] = session
    return decoder
  }

  @Test func `a model may read and write through the session that decodes it`() async throws {
    let author = db.document("authors/herbert")
    let books = db.collection("books")
    try await author.setData(["name": "Herbert"])
    for n in 0..<3 {
      try await books.document("\(n)").setData(["title": "Dune \(n)", "author": author])
    }
    let (one, planned, many) = try await db.write { tx in
      let one = try tx.getDocument(books.document("0"), as: Joined.self, decoder: self.decoder(tx))
      // Now the document and its author are the request's own.
      try tx.setData(["name": "Frank Herbert"], forDocument: author)
      try tx.updateData(["title": "Dune"], forDocument: books.document("0"))
      let planned = try tx.getDocument(
        books.document("0"), as: Joined.self, decoder: self.decoder(tx))
      let many = try tx.getDocuments(books, as: Joined.self, decoder: self.decoder(tx))
      return (one, planned, many)
    }
    #expect(one.title == "Dune 0" && one.author == "Herbert")
    #expect(planned.title == "Dune" && planned.author == "Frank Herbert")
    #expect(many.map(\.title) == ["Dune", "Dune 1", "Dune 2"])
    #expect(many.allSatisfy { $0.author == "Frank Herbert" })
    #expect(try await db.collection("seen").count.getAggregation(source: .server).count == 250)

    let read = try await db.read { session in
      (
        try session.getDocument(books.document("0"), as: Joined.self, decoder: decoder(session)),
        try session.getDocuments(books, as: Joined.self, decoder: decoder(session))
      )
    }
    #expect(read.0.author == "Frank Herbert")
    #expect(read.1.map(\.title) == ["Dune", "Dune 1", "Dune 2"])
    try await db.terminate()
  }
}
