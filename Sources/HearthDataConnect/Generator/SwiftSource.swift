/// The text of a Swift file, formatted as it is written: 2 spaces, 100 columns.
struct SwiftSource {
  private(set) var text = ""
  private var depth = 0
  private static let width = 100

  /// Of a line that has a scope after it, or has none.
  mutating func line(_ line: String = "") {
    if !line.isEmpty { text += String(repeating: "  ", count: depth) + line }
    text += "\n"
  }

  /// The lines of `body`, indented.
  mutating func indented(_ body: (inout SwiftSource) -> Void) {
    depth += 1
    body(&self)
    depth -= 1
  }

  /// `header {`, the body, `}`
  mutating func scope(_ header: String, _ body: (inout SwiftSource) -> Void) {
    line("\(header) {")
    indented(body)
    line("}")
  }

  /// A declaration with parameters and a body:
  ///
  ///     public func execute(
  ///       fetchPolicy: QueryFetchPolicy = .preferCache, genre: String
  ///     ) async throws -> OperationResult<Data> {
  ///       try await …
  ///     }
  mutating func function(
    _ name: String, _ parameters: [String], _ effects: String = "",
    _ body: (inout SwiftSource) -> Void
  ) {
    list("\(name)(", parameters, ")\(effects) {")
    indented(body)
    line("}")
  }

  /// A computed property, on one line if it fits.
  mutating func accessor(_ head: String, _ value: SwiftItem) {
    let whole = "\(head) { \(value.text) }"
    if fits(whole) { return line(whole) }
    scope(head) { $0.call(value.head, value.items, value.tail) }
  }

  /// `DataConnect.dataConnect(…)`
  mutating func call(_ head: String, _ items: [SwiftItem], _ tail: String) {
    let whole = head + items.map(\.text).joined(separator: ", ") + tail
    if items.isEmpty || fits(whole) { return line(whole) }
    line(head)
    indented { $0.fill(items, last: tail) }
  }

  func fits(_ line: String) -> Bool { depth * 2 + line.count <= Self.width }

  /// `ref(id: id).execute()`, on one line if it fits.
  ///
  /// - Parameter last: Follows the last item if the items have lines of their own, as the comma in
  ///   `[.DRAMA, .COMEDY]`.
  mutating func list(
    _ head: String, _ items: [String], _ tail: String, last: String = ""
  ) {
    let whole = head + items.joined(separator: ", ") + tail
    if fits(whole) { return line(whole) }
    line(head)
    indented { $0.fill(items.map { SwiftItem($0) }, last: last) }
    line(tail)
  }

  /// Items that fit share lines; an item that has to be broken has lines of its own.
  private mutating func fill(_ items: [SwiftItem], last: String) {
    var row: [String] = []
    for (index, item) in items.enumerated() {
      let end = index == items.count - 1 ? last : ","
      let text = item.text + end
      let isLong = !fits(text) && !item.items.isEmpty
      if isLong || !fits((row + [text]).joined(separator: " ")) {
        if !row.isEmpty { line(row.joined(separator: " ")) }
        row = []
      }
      if isLong { call(item.head, item.items, item.tail + end) } else { row.append(text) }
    }
    if !row.isEmpty { line(row.joined(separator: " ")) }
  }
}

/// An argument of a call, which may be a call itself: `variables: Variables(id: id)`.
struct SwiftItem: ExpressibleByStringInterpolation {
  var head: String
  var items: [SwiftItem] = []
  var tail = ""

  init(stringLiteral value: String) { head = value }

  init(_ head: String) { self.head = head }

  init(_ head: String, _ items: [SwiftItem], _ tail: String = ")") {
    self.head = head
    self.items = items
    self.tail = tail
  }

  var text: String { head + items.map(\.text).joined(separator: ", ") + tail }
}
