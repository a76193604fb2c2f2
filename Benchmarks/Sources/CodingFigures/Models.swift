import Foundation

/// A model that is measured: made by a number, read by a person or by JSON.
protocol Measured: Codable, Equatable, Sendable {
  static var name: String { get }
  init(_ index: Int)
  /// Touches every field, so that none is made for nothing.
  func mix(into mixer: inout Mixer)
}

/// Cheap enough not to be what is measured.
struct Mixer {
  private(set) var value: UInt64 = 0x9E37_79B9_7F4A_7C15

  @inline(__always)
  mutating func mix(_ word: UInt64) { value = (value ^ word) &* 0x100_0000_01B3 }
  @inline(__always)
  mutating func mix(_ number: Int) { mix(UInt64(bitPattern: Int64(number))) }
  @inline(__always)
  mutating func mix(_ text: String) { mix(text.utf8.count) }
  @inline(__always)
  mutating func mix(_ number: Double) { mix(number.bitPattern) }
  @inline(__always)
  mutating func mix(_ flag: Bool) { mix(flag ? 1 : 0 as UInt64) }
  @inline(__always)
  mutating func mix(_ date: Date) { mix(date.timeIntervalSinceReferenceDate) }
}

struct Tag: Codable, Equatable {
  var title: String
  var color: String
}

/// Ten fields, a map and two arrays inside: the book of most of our examples.
struct Book: Measured {
  struct Cover: Codable, Equatable {
    var small: String
    var medium: String
    var large: String
  }

  static let name = "book"

  var title: String
  var author: String
  var isbn: String
  var numberOfPages: Int
  var rating: Double
  var published: Date
  var isAvailable: Bool
  var tags: [Tag]
  var genres: [String]
  var cover: Cover

  @inline(__always)
  func mix(into mixer: inout Mixer) {
    mixer.mix(title)
    mixer.mix(author)
    mixer.mix(isbn)
    mixer.mix(numberOfPages)
    mixer.mix(rating)
    mixer.mix(published)
    mixer.mix(isAvailable)
    for tag in tags {
      mixer.mix(tag.title)
      mixer.mix(tag.color)
    }
    for genre in genres { mixer.mix(genre) }
    mixer.mix(cover.small)
    mixer.mix(cover.medium)
    mixer.mix(cover.large)
  }
}

extension Book {
  init(_ index: Int) {
    title = "The Hitchhiker's Guide to the Galaxy, volume \(index)"
    author = "Douglas Adams"
    isbn = "978-0-345-39180-\(index % 10)"
    numberOfPages = 224 + index % 500
    rating = 4.2 + Double(index % 7) / 10
    published = Date(timeIntervalSince1970: 308_534_400 + Double(index))
    isAvailable = index % 2 == 0
    tags = [
      Tag(title: "Bestseller", color: "#FFCC00"), Tag(title: "Science", color: "#336699"),
    ]
    genres = ["Science Fiction", "Comedy", "Adventure"]
    let cover = "https://covers.example.org/books/\(1000 + index % 9000)"
    self.cover = Cover(
      small: cover + "/small.png", medium: cover + "/medium.png", large: cover + "/large.png")
  }
}

/// The same, its cover's places as URLs.
struct LinkedBook: Measured {
  struct Cover: Codable, Equatable {
    var small: URL
    var medium: URL
    var large: URL
  }

  static let name = "book with URLs"

  var title: String
  var author: String
  var isbn: String
  var numberOfPages: Int
  var rating: Double
  var published: Date
  var isAvailable: Bool
  var tags: [Tag]
  var genres: [String]
  var cover: Cover

  @inline(__always)
  func mix(into mixer: inout Mixer) {
    mixer.mix(title)
    mixer.mix(author)
    mixer.mix(isbn)
    mixer.mix(numberOfPages)
    mixer.mix(rating)
    mixer.mix(published)
    mixer.mix(isAvailable)
    for tag in tags {
      mixer.mix(tag.title)
      mixer.mix(tag.color)
    }
    for genre in genres { mixer.mix(genre) }
    for url in [cover.small, cover.medium, cover.large] { mixer.mix(url.absoluteString) }
  }
}

extension LinkedBook {
  init(_ index: Int) {
    let book = Book(index)
    title = book.title
    author = book.author
    isbn = book.isbn
    numberOfPages = book.numberOfPages
    rating = book.rating
    published = book.published
    isAvailable = book.isAvailable
    tags = book.tags
    genres = book.genres
    func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }
    cover = Cover(
      small: url(book.cover.small), medium: url(book.cover.medium), large: url(book.cover.large))
  }
}

/// Five scalars.
struct Reading: Measured {
  static let name = "flat, 5 fields"

  var sensor: String
  var value: Double
  var count: Int
  var isValid: Bool
  var taken: Date

  @inline(__always)
  func mix(into mixer: inout Mixer) {
    mixer.mix(sensor)
    mixer.mix(value)
    mixer.mix(count)
    mixer.mix(isValid)
    mixer.mix(taken)
  }
}

extension Reading {
  init(_ index: Int) {
    sensor = "kitchen/temperature/\(index % 100)"
    value = 20 + Double(index % 100) / 7
    count = index
    isValid = true
    taken = Date(timeIntervalSince1970: 1_700_000_000 + Double(index))
  }
}
