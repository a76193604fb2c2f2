import Foundation

/// What every engine keeps: ten fields, a map and two arrays inside; about 550 bytes as JSON.
public struct Book: Codable, Equatable, Sendable {
  public struct Tag: Codable, Equatable, Sendable {
    public var title: String
    public var color: String
  }

  public struct Cover: Codable, Equatable, Sendable {
    public var small: String
    public var medium: String
    public var large: String
  }

  public var title: String
  public var author: String
  public var isbn: String
  public var numberOfPages: Int
  public var rating: Double
  public var published: Date
  public var isAvailable: Bool
  public var tags: [Tag]
  public var genres: [String]
  public var cover: Cover

  /// A hundred books an author, one in a thousand with any number of pages, ratings all over the
  /// place. The same number gives the same book.
  public init(_ number: Int) {
    let spread = (number &* 7_919) % 1_000_003
    title = "The Hitchhiker's Guide to the Galaxy, volume \(number)"
    author = Self.author(number / 100)
    isbn = "978-0-345-39180-\(number % 10)"
    numberOfPages = spread % 1000
    rating = Double(spread) / 200_000
    published = Date(timeIntervalSince1970: Double(308_620_800 + number % 1_000_000))
    isAvailable = number % 3 != 0
    tags = [
      Tag(title: "favourite", color: "#ff0000"),
      Tag(title: "shelf \(number % 20)", color: "#00ff00"),
    ]
    genres = ["comedy", "science fiction", "adventure"]
    cover = Cover(
      small: "https://example.com/covers/\(number)/small.png",
      medium: "https://example.com/covers/\(number)/medium.png",
      large: "https://example.com/covers/\(number)/large.png")
  }

  public static func author(_ number: Int) -> String { "Author number \(number)" }
  public static func id(_ number: Int) -> String { "book-\(10_000_000 + number)" }
}

/// A number that depends on what was done, so that nothing is left out as useless.
public struct Digest: Equatable {
  public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  public init() {}

  public mutating func add(_ number: Int) {
    value = (value ^ UInt64(truncatingIfNeeded: number)) &* 0x100_0000_01B3
  }

  public mutating func add(_ book: Book) {
    add(book.numberOfPages)
    add(book.title.utf8.count)
    add(Int(truncatingIfNeeded: book.rating.bitPattern))
    add(book.tags.count &+ book.genres.count &+ book.cover.large.utf8.count)
  }

  public mutating func add(_ books: [Book]) { for book in books { add(book) } }
}
