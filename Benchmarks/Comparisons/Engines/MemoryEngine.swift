import Foundation
import Synchronization
import Workloads

/// A dictionary in memory: what storing and decoding nothing would cost.
final class MemoryEngine: Engine {
  static let name = "dictionary"

  private let all = Mutex<[String: Book]>([:])

  init(path: String) async throws {}

  func load(_ numbers: Range<Int>, group: Int) async throws {
    all.withLock { all in for number in numbers { all[Book.id(number)] = Book(number) } }
  }

  func rate(_ numbers: Range<Int>, _ rating: Double, group: Int) async throws {
    all.withLock { all in for number in numbers { all[Book.id(number)]?.rating = rating } }
  }

  func delete(_ numbers: Range<Int>, group: Int) async throws {
    all.withLock { all in for number in numbers { all[Book.id(number)] = nil } }
  }

  func put(_ book: Book, _ id: String) async throws { all.withLock { $0[id] = book } }

  func get(_ id: String) async throws -> Book {
    guard let book = all.withLock({ $0[id] }) else { throw Missing() }
    return book
  }

  func books(by author: String) async throws -> [Book] {
    all.withLock { $0.values.filter { $0.author == author } }
  }

  func bestRated(_ count: Int) async throws -> [Book] {
    all.withLock { Array($0.values.sorted { $0.rating > $1.rating }.prefix(count)) }
  }

  func scan(_ body: (Book) -> Void) async throws {
    for book in all.withLock({ $0.values }) { body(book) }
  }

  func count(numberOfPages: Int) async throws -> Int {
    all.withLock { $0.values.count { $0.numberOfPages == numberOfPages } }
  }

  func close() async throws {}
}
