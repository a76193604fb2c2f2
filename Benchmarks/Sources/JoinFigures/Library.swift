import Foundation

/// What both databases hold: authors, five books of each, three reviews of each book on average.
///
///     authors ◀── author ── books ◀── book ── reviews
///
/// Every value follows from an index, so that both sides have the same documents and rows.
struct Library: Sendable {
  struct AuthorFields {
    var name: String
    var country: String
    var born: Int
  }

  struct BookFields {
    var title: String
    var summary: String
    var isbn: String
    var genre: String
    var pages: Int
    var year: Int
    var author: Int
    var latitude: Double
    var longitude: Double
  }

  struct ReviewFields {
    var book: Int
    var stars: Int
    /// Months since January 2015.
    var month: Int
    var text: String
  }

  static let genres = 40
  static let months = 120
  static let cities = 200

  let books: Int
  var authors: Int { max(1, books / 5) }
  var reviews: Int { books * 3 }
  let vocabulary = Vocabulary()

  func author(_ index: Int) -> AuthorFields {
    var numbers = Numbers(1, index)
    return AuthorFields(
      name: vocabulary.text(2, &numbers).capitalized, country: "country-\(numbers.below(60))",
      born: 1900 + numbers.below(100))
  }

  func book(_ index: Int) -> BookFields {
    var numbers = Numbers(2, index)
    let title = vocabulary.text(2 + numbers.below(4), &numbers)
    let summary = vocabulary.text(30 + numbers.below(20), &numbers)
    let (latitude, longitude) = position(&numbers)
    return BookFields(
      title: title, summary: summary, isbn: Self.isbn(index),
      genre: "genre-\(numbers.below(Self.genres))", pages: 80 + numbers.below(800),
      year: 1950 + numbers.below(75), author: numbers.below(authors), latitude: latitude,
      longitude: longitude)
  }

  func review(_ index: Int) -> ReviewFields {
    var numbers = Numbers(3, index)
    return ReviewFields(
      book: numbers.below(books), stars: 1 + numbers.below(5), month: numbers.below(Self.months),
      text: vocabulary.text(12, &numbers))
  }

  static func isbn(_ index: Int) -> String {
    // Not in the order of the books.
    var numbers = Numbers(4, index)
    return "978-\(numbers.below(1_000_000_000))-\(index)"
  }

  /// Seven of ten are within some kilometres of a city, more of them near its centre.
  private func position(_ numbers: inout Numbers) -> (Double, Double) {
    guard numbers.below(10) < 7 else {
      return (numbers.fraction() * 120 - 60, numbers.fraction() * 360 - 180)
    }
    let centre = Self.city(numbers.below(Self.cities))
    let kilometres = numbers.fraction() * numbers.fraction() * 12
    let angle = numbers.fraction() * 2 * .pi
    let latitude = centre.latitude + kilometres * sin(angle) / 111.2
    let longitude =
      centre.longitude + kilometres * cos(angle) / (111.2 * cos(centre.latitude * .pi / 180))
    return (latitude, min(max(longitude, -180), 180))
  }

  static func city(_ index: Int) -> (latitude: Double, longitude: Double) {
    var numbers = Numbers(5, index)
    return (numbers.fraction() * 120 - 60, numbers.fraction() * 350 - 175)
  }
}

/// The ids of documents. Rows have their indexes as primary keys.
enum ID {
  static func author(_ index: Int) -> String { "a\(10_000_000 + index)" }
  static func book(_ index: Int) -> String { "b\(10_000_000 + index)" }
  static func review(_ index: Int) -> String { "r\(10_000_000 + index)" }
}
