import Foundation
import Hearth

/// Listeners of all kinds, each to something of its own: of ten, four to an equality, two to ranges, one
/// to an ordered limit, one to an `or` or an `in`, one to an element of arrays, one to a document.
struct Mix {
  static let queue = DispatchQueue(label: "listeners")

  /// Rung by each listener's first snapshot.
  let first = Bell()
  private let db: Firestore
  private let books: CollectionReference

  init(_ db: Firestore) {
    self.db = db
    books = db.collection("books")
  }

  static func book(_ index: Int) -> [String: Any] {
    [
      "title": "The book with the number \(index)", "author": "author-\(index)",
      "publisher": "publisher-\(index)", "shelf": index, "year": 1900 + index % 125,
      "rank": index * 5, "tags": ["sand", "tag-\(index)"], "n": index,
    ]
  }

  /// What changes; one of them may look at it.
  static var hot: [String: Any] {
    [
      "title": "The one that changes", "author": "hot", "publisher": "hot", "shelf": -1, "year": -1,
      "rank": -1, "tags": ["hot", "warm"], "n": 0,
    ]
  }

  func listen(_ index: Int) {
    let query: Query
    switch index % 10 {
    case 0...3: query = books.whereField("author", isEqualTo: "author-\(index)")
    case 4, 5:
      query =
        books.whereField("year", isGreaterThanOrEqualTo: index)
        .whereField("year", isLessThan: index + 20)
    case 6:
      query =
        index % 20 < 10
        ? books.whereField("shelf", isEqualTo: index).order(by: "year").limit(to: 10)
        : books.order(by: "rank").start(at: [Double(index) / 100]).limit(to: 10)
    case 7:
      query =
        index % 20 < 10
        ? books.whereField("author", in: ["one-\(index)", "other-\(index)"])
        : books.whereFilter(
          .orFilter([
            .whereField("author", isEqualTo: "one-\(index)"),
            .whereField("publisher", isEqualTo: "other-\(index)"),
          ]))
    case 8: query = books.whereField("tags", arrayContains: "tag-\(index)")
    default:
      db.document("shelves/\(index)").addSnapshotListener(on: Mix.queue) { [first] _, _ in
        first.ring()
      }
      return
    }
    query.addSnapshotListener(on: Mix.queue) { [first] snapshot, error in
      // The last thing told is that the database was closed.
      if let error, (error as NSError).code != FirestoreErrorCode.failedPrecondition.rawValue {
        fatalError("\(error)")
      }
      first.ring()
    }
  }
}
