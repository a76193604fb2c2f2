/// The first `limit` elements of many, by an order. Keeps at most `max(2 * limit, 64)` of them.
struct TopK<Element> {
  private let limit: Int
  private(set) var elements: [Element] = []
  /// Elements after this one are not among the first.
  private var last: Element?

  /// - Parameter limit: The number of elements wanted; nil for all.
  init(limit: Int?) { self.limit = limit ?? .max }

  mutating func add(_ element: Element, by compare: (Element, Element) throws -> Int) throws {
    if limit == 0 { return }
    if let last, try compare(element, last) >= 0 { return }
    elements.append(element)
    guard limit < Int.max / 2, elements.count >= max(limit * 2, 64) else { return }
    try trim(by: compare)
    last = elements.last
  }

  /// The first ones, sorted.
  mutating func finish(by compare: (Element, Element) throws -> Int) throws -> [Element] {
    try trim(by: compare)
    return elements
  }

  private mutating func trim(by compare: (Element, Element) throws -> Int) throws {
    try elements.sort { try compare($0, $1) < 0 }
    if elements.count > limit { elements.removeLast(elements.count - limit) }
  }
}
