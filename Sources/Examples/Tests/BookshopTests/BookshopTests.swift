import FirebaseFirestore
import Foundation
import HearthTesting
import Hummingbird
import HummingbirdTesting
import ServiceLifecycle
import Testing

@testable import Bookshop

@Suite struct BookshopTests {
  private let dune = BookRequest(title: "Dune", author: "Frank Herbert", pages: 412, copies: 1)

  @Test func `the model is stored whole`() async throws {
    // The commit sets the time.
    try await expectRoundTrip(Book(dune), ignoring: ["added"])
  }

  @Test func `a missing book is answered with 404`() async throws {
    let database = try TemporaryDatabase()
    defer { withExtendedLifetime(database) {} }
    let app = bookshopApplication(on: database.firestore)
    try await app.test(.router) { client in
      try await client.execute(uri: "/books/none", method: .get) { response in
        #expect(response.status == .notFound)
      }
    }
  }

  @Test func `a book is added, read, replaced and deleted`() async throws {
    try await withShop { client in
      let added = try await client.add(dune)
      #expect(try await client.book(added.id) == added)
      var other = dune
      other.pages = 500
      try await client.execute(
        uri: "/books/\(added.id)", method: .put, headers: [.contentType: "application/json"],
        body: ByteBuffer(data: JSONEncoder().encode(other)))
      #expect(try await client.book(added.id)?.pages == 500)
      try await client.execute(uri: "/books/\(added.id)", method: .delete) { response in
        #expect(response.status == .noContent)
      }
      #expect(try await client.book(added.id) == nil)
    }
  }

  @Test func `the pages contain every book once, also those of one title`() async throws {
    try await withShop { client in
      var ids: Set<String> = []
      for number in 0..<7 {
        var book = dune
        book.title = "Dune \(number / 3)"
        ids.insert(try await client.add(book).id)
      }
      var found: [String] = []
      var uri: String? = "/books?limit=2"
      while let page = uri {
        uri = try await client.execute(uri: page, method: .get) { response in
          let page = try JSONDecoder().decode(BookPage.self, from: response.body)
          #expect(page.books.count <= 2)
          found += page.books.map(\.id)
          return page.next.map { "/books?limit=2&after=\($0)" }
        }
      }
      #expect(found.count == 7 && Set(found) == ids)
      for bad in ["/books?limit=0", "/books?after=nonsense"] {
        try await client.execute(uri: bad, method: .get) { #expect($0.status == .badRequest) }
      }
    }
  }

  @Test func `the last copy is sold once`() async throws {
    try await withShop { client in
      let added = try await client.add(dune)
      for expected in [HTTPResponse.Status.ok, .conflict] {
        try await client.execute(uri: "/books/\(added.id)/sale", method: .post) { response in
          #expect(response.status == expected)
        }
      }
      #expect(try await client.book(added.id)?.copies == 0)
      try await client.execute(uri: "/books/none/sale", method: .post) { response in
        #expect(response.status == .notFound)
      }
    }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a live query sends each state, and ends on graceful shutdown`() async throws {
    let database = try TemporaryDatabase()
    let (ports, port) = AsyncStream.makeStream(of: Int.self)
    var app = bookshopApplication(
      on: database.firestore, address: .hostname("127.0.0.1", port: 0))
    app.logger.logLevel = .error
    let running = Application(
      responder: app.responder, configuration: app.configuration, services: app.services,
      onServerRunning: { port.yield($0.localAddress?.port ?? 0) }, logger: app.logger)
    let group = ServiceGroup(
      configuration: .init(services: [running], logger: app.logger))
    let service = Task { try await group.run() }
    var iterator = ports.makeAsyncIterator()
    let number = try #require(await iterator.next())
    let client = try EventClient(port: number, path: "/live/books")
    #expect(try await client.next().contains("event: reset\n"))
    #expect(try await client.next().contains("event: ready\n"))
    try await database.firestore.collection("books").document("dune")
      .setData(committing: Book(dune))
    let event = try await client.next()
    #expect(event.contains("event: added\n") && event.contains("\"title\":\"Dune\""))
    // A client that connects again gets what it has missed.
    let id = try #require(event.split(separator: "id: ").last.map(String.init))
    try await database.firestore.document("books/dune").updateData(["copies": 0])
    let again = try EventClient(port: number, path: "/live/books", lastEventID: id)
    let missed = try await again.next()
    #expect(missed.contains("event: modified\n") && missed.contains("\"copies\":0"))
    // An id that is no token is answered by a reset. No client keeps a document that does not decode.
    try await database.firestore.document("books/bad").setData(["title": "Bad"])
    let lost = try EventClient(port: number, path: "/live/books", lastEventID: "nonsense")
    #expect(try await lost.next().contains("event: reset\n"))
    #expect(try await lost.next().contains("event: removed\ndata: {\"id\":\"bad\"}"))
    #expect(try await lost.next().contains("\"title\":\"Dune\""))
    let began = ContinuousClock.now
    await group.triggerGracefulShutdown()
    try await service.value
    #expect(began.duration(to: .now) < .seconds(3))
    // The service has closed the database.
    await #expect(throws: FirestoreErrorCode.self) {
      try await database.firestore.document("books/dune").getDocument()
    }
  }

  private func withShop(
    _ body: @Sendable (any TestClientProtocol) async throws -> Void
  ) async throws {
    let database = try TemporaryDatabase()
    defer { withExtendedLifetime(database) {} }
    var app = bookshopApplication(on: database.firestore)
    app.logger.logLevel = .error
    try await app.test(.router, body)
  }
}

extension TestClientProtocol {
  fileprivate func add(_ book: BookRequest) async throws -> BookResponse {
    try await execute(
      uri: "/books", method: .post, headers: [.contentType: "application/json"],
      body: ByteBuffer(data: JSONEncoder().encode(book))
    ) { response in
      #expect(response.status == .created)
      return try JSONDecoder().decode(BookResponse.self, from: response.body)
    }
  }

  /// Nil if there is no such book.
  fileprivate func book(_ id: String) async throws -> BookResponse? {
    try await execute(uri: "/books/\(id)", method: .get) { response in
      if response.status == .notFound { return nil }
      return try JSONDecoder().decode(BookResponse.self, from: response.body)
    }
  }
}
