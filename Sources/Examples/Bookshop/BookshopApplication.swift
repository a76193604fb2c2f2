import FirebaseFirestore
import Foundation
import HTTPTypes
import HearthService
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// The bookshop on `firestore`. It closes the database when it has shut down, after the server.
///
///     GET    /books?limit=20&after=TOKEN   a page of books by title
///     POST   /books                        adds a book
///     GET    /books/{id}                   one book
///     PUT    /books/{id}                   changes a book
///     DELETE /books/{id}
///     POST   /books/{id}/sale              takes one copy, or answers 409 if there is none
///     GET    /live/books                   all books, then each change, as server-sent events
public func bookshopApplication(
  on firestore: Firestore, address: BindAddress = .hostname("127.0.0.1", port: 8080),
  logger: Logger = Logger(label: "bookshop")
) -> Application<RouterResponder<BasicRequestContext>> {
  let router = Router()
  router.add(middleware: ErrorResponses())
  Bookshop(books: firestore.collection("books")).addRoutes(to: router)
  return Application(
    router: router, configuration: .init(address: address),
    // A group shuts its services down in reverse order, and the server is the last one.
    services: [FirestoreService(firestore)], logger: logger)
}

struct Bookshop: Sendable {
  let books: CollectionReference

  func addRoutes(to router: Router<BasicRequestContext>) {
    router.get("books") { request, _ in
      let parameters = request.uri.queryParameters
      let limit = parameters.get("limit", as: Int.self) ?? 20
      guard (1...100).contains(limit) else {
        throw HTTPError(.badRequest, message: "The limit must be 1...100.")
      }
      let token = try parameters.get("after").map { try PageToken(text: $0) }
      return try await books.page(limit: limit, after: token)
    }
    router.post("books") { request, context in
      let body = try await request.decode(as: BookRequest.self, context: context)
      let document = books.document()
      try await document.setData(committing: Book(body))
      return try EditedResponse(status: .created, response: await response(for: document))
    }
    router.get("books/:id") { _, context in try await response(for: document(context)) }
    router.put("books/:id") { request, context in
      let body = try await request.decode(as: BookRequest.self, context: context)
      let document = try document(context)
      // Keeps the time at which it was added. Throws `notFound` if there is no such book.
      try await document.updateData([
        "title": body.title, "author": body.author, "pages": body.pages, "copies": body.copies,
      ])
      return try await response(for: document)
    }
    router.delete("books/:id") { _, context in
      try await document(context).delete()
      return HTTPResponse.Status.noContent
    }
    router.post("books/:id/sale") { _, context in
      let document = try document(context)
      try await sell(document)
      return try await response(for: document)
    }
    router.get("live/books") { request, context in
      let id = request.headers[.lastEventID]
      let events = BookEvents(query: books.order(by: "title"), logger: context.logger)
      return Response(
        status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
        body: ResponseBody { writer in
          // Cancels the loop when the client has gone.
          try await request.body.consumeWithCancellationOnInboundClose { _ in
            try await events.send(after: id) { try await writer.write(ByteBuffer(string: $0)) }
          }
          try await writer.finish(nil)
        })
    }
  }

  private func document(_ context: BasicRequestContext) throws -> DocumentReference {
    let id = try context.parameters.require("id")
    // With a slash it would be the path of another collection's document.
    guard !id.contains("/") else { throw HTTPError(.badRequest, message: "An id has no slash.") }
    return books.document(id)
  }

  private func response(for document: DocumentReference) async throws -> BookResponse {
    // Nil for a document that does not exist; `Book.self` would throw a `DecodingError`.
    guard let book = try await document.getDocument(as: Book?.self).flatMap(BookResponse.init)
    else { throw HTTPError(.notFound, message: "There is no such book.") }
    return book
  }

  /// Takes one copy. Throws 404 if there is no such book, 409 if there is no copy.
  private func sell(_ document: DocumentReference) async throws {
    // The block returns what it found: errors of Firestore's codes would run it again.
    let isSold =
      try await books.firestore.runTransaction { transaction, error in
        do {
          guard let book = try transaction.getDocument(document).data(as: Book?.self) else {
            return nil
          }
          guard book.copies > 0 else { return false }
          transaction.updateData(["copies": book.copies - 1], forDocument: document)
          return true
        } catch let thrown {
          error?.pointee = thrown as NSError
          return nil
        }
      } as? Bool
    guard let isSold else { throw HTTPError(.notFound, message: "There is no such book.") }
    guard isSold else { throw HTTPError(.conflict, message: "The book is sold out.") }
  }
}

extension HTTPField.Name {
  static let lastEventID = HTTPField.Name("Last-Event-ID")!
}

extension Book {
  init(_ request: BookRequest) {
    self.init(
      title: request.title, author: request.author, pages: request.pages, copies: request.copies)
  }
}
