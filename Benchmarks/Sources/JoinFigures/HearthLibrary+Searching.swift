import Foundation
import Hearth

extension HearthLibrary {
  /// As in SQLite's full-text table, words are not stemmed.
  static let texts = SearchFields("title", "summary")

  /// Adds indexes on words and on cells, if they are not there.
  func prepareSearches() async throws {
    try await db.indexes.declare(FirestoreIndex(words: "books", in: Self.texts))
    try await db.indexes.declare(FirestoreIndex("books", .cells("position")))
    try await db.indexes.waitUntilReady()
  }

  /// The number of the 20 best matches of all words in title and summary, decoded.
  func matches(of words: [String]) async throws -> Int? {
    try await books.search(words.joined(separator: " "), in: Self.texts).limit(to: 20)
      .getDocuments(as: Book.self).count
  }

  /// The number of books within a distance of a point, nearest first, decoded.
  func books(
    within kilometres: Double, of centre: (latitude: Double, longitude: Double)
  ) async throws -> Int? {
    let point = GeoPoint(latitude: centre.latitude, longitude: centre.longitude)
    let found = try await books.whereFilter(
      .whereField("position", isWithin: kilometres * 1000, metersOf: point)
    ).getDocuments(as: Book.self)
    return found.map { book in (Self.distance(book.position, point), book) }
      .sorted { $0.0 < $1.0 }.count
  }

  private static func distance(_ one: GeoPoint, _ other: GeoPoint) -> Double {
    let radian = Double.pi / 180
    let north = sin((other.latitude - one.latitude) * radian / 2)
    let east = sin((other.longitude - one.longitude) * radian / 2)
    return north * north
      + cos(one.latitude * radian) * cos(other.latitude * radian) * east * east
  }
}
