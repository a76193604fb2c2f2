#if Server
  /// A queue whose elements have numbers, by which they may leave it before it is their turn. All takes constant
  /// time, amortised.
  struct Line<Element> {
    /// By their numbers, which count up from 1.
    private(set) var elements: [Int: Element] = [:]
    /// No element has a smaller number.
    private var begin = 1
    private var last = 0

    /// The element that has waited for the longest time.
    var first: (number: Int, element: Element)? {
      mutating get {
        while begin <= last {
          if let element = elements[begin] { return (begin, element) }
          begin += 1
        }
        return nil
      }
    }

    /// Returns the number, which no other element gets.
    mutating func append(_ element: Element) -> Int {
      last += 1
      if elements.isEmpty { begin = last }
      elements[last] = element
      return last
    }

    @discardableResult
    mutating func remove(_ number: Int) -> Element? { elements.removeValue(forKey: number) }

    mutating func removeAll() { elements = [:] }
  }
#endif
