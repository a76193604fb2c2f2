internal import HearthText

/// A document in a result, with its sort key: keys order as the result does.
struct ResultRow: Sendable {
  let key: [UInt8]
  let document: StoredDocument
}

/// The rows of a result in order, in a tree whose nodes never change.
///
///                 ┌────────── 640 ──────────┐
///            ┌─ 310 ─┐                 ┌─ 330 ─┐         a node knows how many rows are below it
///     [rows] … [rows]            [rows] … [rows]
///
/// A result that fits in one node is a list without a node: the usual case.
///
/// A value. A change creates only the few nodes above it; all others are shared with earlier copies
/// of the tree. Finding, counting and changing cost the logarithm of the size; comparing two trees
/// costs about the size of their difference.
struct ResultTree: Sendable {
  /// A wider node is split in two; one a fourth as wide is joined with its neighbor.
  static let widthLimit = 32

  final class Node: Sendable {
    /// Of a leaf.
    let rows: [ResultRow]
    /// Of an inner node; all of the same height.
    let children: [Node]
    let count: Int
    let height: Int
    /// Key of the first row.
    let firstKey: [UInt8]

    /// For at least one row.
    init(rows: [ResultRow]) {
      self.rows = rows
      children = []
      count = rows.count
      height = 0
      firstKey = rows[0].key
    }

    /// For at least one child.
    init(children: [Node]) {
      rows = []
      self.children = children
      count = children.reduce(0) { $0 + $1.count }
      height = children[0].height + 1
      firstKey = children[0].firstKey
    }

    var isLeaf: Bool { height == 0 }
    var width: Int { isLeaf ? rows.count : children.count }
  }

  fileprivate enum Root {
    case rows([ResultRow])
    /// Not a leaf.
    case node(Node)

    init(_ node: Node?) {
      guard let node, !node.isLeaf else {
        self = .rows(node?.rows ?? [])
        return
      }
      self = .node(node)
    }
  }

  private var root = Root.rows([])

  var count: Int {
    switch root {
    case .rows(let rows): rows.count
    case .node(let node): node.count
    }
  }
  var isEmpty: Bool { count == 0 }

  init() {}

  /// For rows in the order of their keys.
  init(sorted rows: [ResultRow]) {
    guard rows.count > Self.widthLimit else {
      root = .rows(rows)
      return
    }
    root = Root(Self.tower(over: Self.pieces(of: rows).map(Node.init(rows:))))
  }

  /// About three quarters full, to leave room for insertions.
  private static func pieces<Element>(of elements: [Element]) -> [[Element]] {
    guard elements.count > widthLimit else { return elements.isEmpty ? [] : [elements] }
    let count = (elements.count + widthLimit * 3 / 4 - 1) / (widthLimit * 3 / 4)
    return (0..<count).map {
      Array(elements[(elements.count * $0 / count)..<(elements.count * ($0 + 1) / count)])
    }
  }

  private static func tower(over nodes: [Node]) -> Node? {
    var nodes = nodes
    while nodes.count > 1 { nodes = pieces(of: nodes).map(Node.init(children:)) }
    return nodes.first
  }

  // MARK: Finding

  /// The index where a row with the key is or would be inserted, and the row.
  func find(_ key: [UInt8]) -> (index: Int, row: ResultRow?) {
    switch root {
    case .rows(let rows): return Self.find(key, in: rows)
    case .node(var node):
      var index = 0
      while !node.isLeaf {
        let child = Self.child(of: node, for: key)
        for sibling in 0..<child { index += node.children[sibling].count }
        node = node.children[child]
      }
      let (offset, row) = Self.find(key, in: node.rows)
      return (index + offset, row)
    }
  }

  private static func find(_ key: [UInt8], in rows: [ResultRow]) -> (index: Int, row: ResultRow?) {
    let offset = offset(in: rows, of: key)
    return (offset, isThere(key, rows, offset) ? rows[offset] : nil)
  }

  private static func isThere(_ key: [UInt8], _ rows: [ResultRow], _ offset: Int) -> Bool {
    offset < rows.count && UTF8Order.compare(rows[offset].key, key) == 0
  }

  subscript(index: Int) -> ResultRow {
    switch root {
    case .rows(let rows): return rows[index]
    case .node(var node):
      var rest = index
      while !node.isLeaf {
        var child = 0
        while rest >= node.children[child].count {
          rest -= node.children[child].count
          child += 1
        }
        node = node.children[child]
      }
      return node.rows[rest]
    }
  }

  var last: ResultRow? { isEmpty ? nil : self[count - 1] }

  /// The last child that does not begin after the key, or the first.
  private static func child(of node: Node, for key: [UInt8]) -> Int {
    let others = 1..<Swift.max(1, node.children.count)
    return others.partitioningIndex { UTF8Order.compare(node.children[$0].firstKey, key) > 0 } - 1
  }

  /// Index of the first row that is not before the key.
  private static func offset(in rows: [ResultRow], of key: [UInt8]) -> Int {
    rows.indices.partitioningIndex { UTF8Order.compare(rows[$0].key, key) >= 0 }
  }

  // MARK: Changing

  /// Inserts a row, in place of one with the same key. Returns its index.
  @discardableResult
  mutating func insert(_ row: ResultRow) -> Int {
    var index = 0
    let (node, next): (Node, Node?)
    switch root {
    case .rows(var rows):
      index = Self.put(row, into: &rows)
      guard rows.count > Self.widthLimit else {
        root = .rows(rows)
        return index
      }
      (node, next) = Self.split(rows, Node.init(rows:))
    case .node(let old): (node, next) = Self.inserting(row, into: old, &index)
    }
    root = Root(next.map { Node(children: [node, $0]) } ?? node)
    return index
  }

  /// Two nodes, if one would be too wide.
  private static func inserting(
    _ row: ResultRow, into node: Node, _ index: inout Int
  ) -> (Node, next: Node?) {
    if node.isLeaf {
      var rows = node.rows
      index += put(row, into: &rows)
      return split(rows, Node.init(rows:))
    }
    let child = child(of: node, for: row.key)
    for sibling in 0..<child { index += node.children[sibling].count }
    let (grown, next) = inserting(row, into: node.children[child], &index)
    var children = node.children
    children[child] = grown
    if let next { children.insert(next, at: child + 1) }
    return split(children, Node.init(children:))
  }

  private static func put(_ row: ResultRow, into rows: inout [ResultRow]) -> Int {
    let offset = offset(in: rows, of: row.key)
    if isThere(row.key, rows, offset) {
      rows = moved(rows, offset, to: offset, as: row)
    } else {
      rows.insert(row, at: offset)
    }
    return offset
  }

  private static func split<Element>(
    _ elements: [Element], _ node: ([Element]) -> Node
  ) -> (Node, next: Node?) {
    guard elements.count > widthLimit else { return (node(elements), nil) }
    let middle = elements.count / 2
    return (node(Array(elements[..<middle])), node(Array(elements[middle...])))
  }

  /// Removes the row with the key. Returns its index; nil if there is none.
  @discardableResult
  mutating func remove(_ key: [UInt8]) -> Int? {
    switch root {
    case .rows(var rows):
      let index = Self.offset(in: rows, of: key)
      guard Self.isThere(key, rows, index) else { return nil }
      rows.remove(at: index)
      root = .rows(rows)
      return index
    case .node(let node):
      let (index, row) = find(key)
      guard row != nil else { return nil }
      var shrunk = Self.removing(key, from: node)
      while let node = shrunk, !node.isLeaf, node.children.count == 1 {
        shrunk = node.children[0]
      }
      root = Root(shrunk)
      return index
    }
  }

  /// Removes the row with the key, if there is one, and inserts another. Returns their indexes, the
  /// new one's after the removal.
  mutating func replace(_ key: [UInt8], with row: ResultRow) -> (old: Int?, new: Int) {
    guard case .rows(let rows) = root else { return (remove(key), insert(row)) }
    // Creates one new list, not a second one without the row.
    let old = Self.offset(in: rows, of: key)
    guard Self.isThere(key, rows, old) else { return (nil, insert(row)) }
    var new = Self.offset(in: rows, of: row.key)
    if new != old, Self.isThere(row.key, rows, new) { return (remove(key), insert(row)) }
    if new > old { new -= 1 }
    root = .rows(Self.moved(rows, old, to: new, as: row))
    return (old, new)
  }

  /// The rows, without the one at `old`, and with `row` at `new`.
  private static func moved(
    _ rows: [ResultRow], _ old: Int, to new: Int, as row: ResultRow
  ) -> [ResultRow] {
    Array(unsafeUninitializedCapacity: rows.count) { buffer, count in
      var next = 0
      for position in 0..<rows.count {
        if position == new {
          buffer.initializeElement(at: position, to: row)
        } else {
          if next == old { next += 1 }
          buffer.initializeElement(at: position, to: rows[next])
          next += 1
        }
      }
      count = rows.count
    }
  }

  /// Nil if nothing is left.
  private static func removing(_ key: [UInt8], from node: Node) -> Node? {
    if node.isLeaf {
      var rows = node.rows
      rows.remove(at: offset(in: rows, of: key))
      return rows.isEmpty ? nil : Node(rows: rows)
    }
    let child = child(of: node, for: key)
    var children = node.children
    if let shrunk = removing(key, from: children[child]) {
      children[child] = shrunk
      if shrunk.width <= widthLimit / 4, children.count > 1 {
        let left = child == 0 ? 0 : child - 1
        children.replaceSubrange(
          left...(left + 1), with: joined(children[left], children[left + 1]))
      }
    } else {
      children.remove(at: child)
    }
    return children.isEmpty ? nil : Node(children: children)
  }

  private static func joined(_ left: Node, _ right: Node) -> [Node] {
    let (node, next) =
      left.isLeaf
      ? split(left.rows + right.rows, Node.init(rows:))
      : split(left.children + right.children, Node.init(children:))
    return next.map { [node, $0] } ?? [node]
  }

  // MARK: Differences

  /// The rows that are only here, and those that are only in `other`: a document that changed is
  /// among both. Parts that both share are skipped.
  func difference(
    to other: ResultTree
  ) -> (gone: [ResultRow], come: [ResultRow]) {
    var difference = Difference()
    if case .rows(let rows) = root, case .rows(let others) = other.root {
      difference.compareRows(rows, others)
    } else {
      difference.compare(top, other.top)
    }
    return (difference.gone, difference.come)
  }

  /// The root node, if there are rows.
  var top: [Node] {
    switch root {
    case .rows(let rows): rows.isEmpty ? [] : [Node(rows: rows)]
    case .node(let node): [node]
    }
  }

  private struct Difference {
    var gone: [ResultRow] = []
    var come: [ResultRow] = []

    /// Compares the rows below two lists of nodes, each of one height.
    mutating func compare(_ old: [Node], _ new: [Node]) {
      let height = Swift.max(old.first?.height ?? 0, new.first?.height ?? 0)
      let left = old.first?.height == height ? old : []
      let right = new.first?.height == height ? new : []
      // Opens the taller one until both have the same height.
      if left.isEmpty, !old.isEmpty { return compare(old, Difference.open(right)) }
      if right.isEmpty, !new.isEmpty { return compare(Difference.open(left), new) }
      var positions: [ObjectIdentifier: Int] = [:]
      for (index, node) in right.enumerated() { positions[ObjectIdentifier(node)] = index }
      var (start, otherStart) = (0, 0)
      // Nodes that are in both have the same order in both.
      for (index, node) in left.enumerated() {
        guard let position = positions[ObjectIdentifier(node)] else { continue }
        compareUnshared(left[start..<index], right[otherStart..<position])
        (start, otherStart) = (index + 1, position + 1)
      }
      compareUnshared(left[start...], right[otherStart...])
    }

    private mutating func compareUnshared(_ old: ArraySlice<Node>, _ new: ArraySlice<Node>) {
      if old.isEmpty, new.isEmpty { return }
      let isLeaves = (old.first ?? new.first)?.isLeaf ?? true
      if isLeaves {
        compareRows(old.flatMap(\.rows), new.flatMap(\.rows))
      } else {
        compare(Difference.open(old), Difference.open(new))
      }
    }

    private static func open(_ nodes: some Sequence<Node>) -> [Node] { nodes.flatMap(\.children) }

    mutating func compareRows(_ old: [ResultRow], _ new: [ResultRow]) {
      var (index, other) = (0, 0)
      while index < old.count || other < new.count {
        let order =
          index == old.count
          ? 1 : other == new.count ? -1 : UTF8Order.compare(old[index].key, new[other].key)
        if order < 0 {
          gone.append(old[index])
          index += 1
        } else if order > 0 {
          come.append(new[other])
          other += 1
        } else {
          if !old[index].document.isSameVersion(as: new[other].document) {
            gone.append(old[index])
            come.append(new[other])
          }
          index += 1
          other += 1
        }
      }
    }
  }
}

extension StoredDocument {
  /// For two versions of one document.
  func isSameVersion(as other: StoredDocument) -> Bool {
    self === other || (updateTime == other.updateTime && createTime == other.createTime)
  }
}

// MARK: Walking

extension ResultTree: Sequence {
  struct Iterator: IteratorProtocol {
    private var rows: [ResultRow] = []
    private var nextRow = 0
    /// The nodes above, each with the index of its next child.
    private var way: [(node: Node, next: Int)] = []

    fileprivate init(_ root: Root) {
      switch root {
      case .rows(let rows): self.rows = rows
      case .node(let node): way.append((node, 0))
      }
    }

    mutating func next() -> ResultRow? {
      while nextRow == rows.count {
        guard let (node, next) = way.last else { return nil }
        guard next < node.width else {
          way.removeLast()
          continue
        }
        way[way.count - 1].next += 1
        let child = node.children[next]
        if child.isLeaf {
          (rows, nextRow) = (child.rows, 0)
        } else {
          way.append((child, 0))
        }
      }
      defer { nextRow += 1 }
      return rows[nextRow]
    }
  }

  func makeIterator() -> Iterator { Iterator(root) }
}
