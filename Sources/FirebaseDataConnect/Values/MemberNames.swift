import Synchronization

/// The names of an object's members in their order, each once, and their positions.
///
///     few names      a search from the beginning
///     many names     a dictionary, made for the first search and kept
///
/// Objects share it until one of them gets another name: the rows of a result have one.
final class MemberNames: @unchecked Sendable {
  // Unchecked: changed only by an object that has the only reference to it. `positions` has a lock,
  // because several threads may search.
  private(set) var names: [String]
  /// Nil before the first search among many names.
  private let positions = Mutex<[String: Int]?>(nil)

  /// Up to so many, a search is faster than a dictionary.
  private static let fewCount = 16

  static let none = MemberNames([])

  init(_ names: [String]) { self.names = names }

  func position(of name: String) -> Int? {
    guard names.count > Self.fewCount else { return names.firstIndex(of: name) }
    return positions.withLock { positions in
      if let positions { return positions[name] }
      let made = Dictionary(zip(names, names.indices), uniquingKeysWith: { first, _ in first })
      positions = made
      return made[name]
    }
  }

  /// Adds a name that is not there.
  func append(_ name: String) {
    positions.withLock { $0?[name] = names.count }
    names.append(name)
  }

  func remove(at index: Int) {
    positions.withLock { $0 = nil }
    names.remove(at: index)
  }
}
