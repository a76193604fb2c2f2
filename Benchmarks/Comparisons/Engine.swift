import Workloads

/// What can be asked of each engine, in its own best way: books by id, with an index on the author
/// and one on the rating. Whatever is put is durable when the call returns.
protocol Engine: Sendable {
  static var name: String { get }

  init(path: String) async throws

  /// Puts the books in transactions of so many.
  func load(_ numbers: Range<Int>, group: Int) async throws
  /// Sets another rating, and nothing else, in transactions of so many.
  func rate(_ numbers: Range<Int>, _ rating: Double, group: Int) async throws
  func delete(_ numbers: Range<Int>, group: Int) async throws
  func put(_ book: Book, _ id: String) async throws
  func get(_ id: String) async throws -> Book
  func books(by author: String) async throws -> [Book]
  func bestRated(_ count: Int) async throws -> [Book]
  /// Every book, decoded.
  func scan(_ body: (Book) -> Void) async throws
  /// Without an index.
  func count(numberOfPages: Int) async throws -> Int
  func close() async throws
}
