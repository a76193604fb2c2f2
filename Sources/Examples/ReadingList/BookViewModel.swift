import FirebaseFirestore
import Observation

/// A book of the reading list.
public struct Book: Codable, Sendable {
  @DocumentID public var id: String?
  public var title: String
  public var numberOfPages: Int
  public var author: String

  public static let empty = Book(title: "", numberOfPages: 0, author: "")

  public init(title: String, numberOfPages: Int, author: String) {
    self.title = title
    self.numberOfPages = numberOfPages
    self.author = author
  }
}

/// Shows one book, or why it cannot be shown.
@MainActor @Observable
public final class BookViewModel {
  public private(set) var book = Book.empty
  public private(set) var errorMessage: String?

  private let db: Firestore

  public init(db: Firestore = .firestore()) { self.db = db }

  public func fetchBook(documentId: String) async {
    do {
      book = try await db.collection("books").document(documentId).getDocument(as: Book.self)
      errorMessage = nil
    } catch {
      errorMessage = message(for: error)
    }
  }

  public func update() async {
    guard let id = book.id else { return }
    do {
      try await db.collection("books").document(id).setData(committing: book)
      errorMessage = nil
    } catch {
      errorMessage = message(for: error)
    }
  }
}

/// A sentence for the user of an app.
func message(for error: any Error) -> String {
  switch error {
  case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
    DecodingError.keyNotFound(_, let context):
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    return "The book cannot be read. \(path): \(context.debugDescription)"
  case FirestoreErrorCode.notFound: return "There is no such book."
  default: return "Something went wrong: \(error.localizedDescription)"
  }
}
