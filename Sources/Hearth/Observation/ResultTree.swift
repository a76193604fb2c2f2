/// A document in a result, and where it stands: keys order as the result does.
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
/// A value. A change makes anew the few nodes above it; everything else is shared with whoever took
/// the tree before. Finding, counting and changing cost the logarithm of the size, and what two trees
/// differ in costs about what it is.
struct ResultTree: Sendable {
  /// A node this wide is cut in two; one a fourth as wide joins its neighbour.
  static let widthLimit = 32

  final class Node: Sendable {
    /// Of a leaf.
    let rows: [ResultRow]
    /// Of any other node; all of the same height.
    let children: [Node]
    let count: Int
    let height: Int
    /// The first row's.
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

  private(set) var root: Node?

  var count: Int { root?.count ?? 0 }
  var isEmpty: Bool { root == nil }

  init() {}

  /// For rows in the order of their keys.
  init(sorted rows: [ResultRow]) {
    root = Self.tower(over: Self.pieces(of: rows).map(Node.init(rows:)))
  }

  /// About three quarters full, so that there is room.
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

  /// Where a row with the key is or would be inserted, and the row.
  func find(_ key: [UInt8]) -> (index: Int, row: ResultRow?) {
    guard var node = root else { return (0, nil) }
    var index = 0
    while !node.isLeaf {
      let child = Self.child(of: node, for: key)
      for sibling in 0..<child { index += node.children[sibling].count }
      node = node.children[child]
    }
    let offset = Self.offset(in: node.rows, of: key)
    let isThere = offset < node.rows.count && node.rows[offset].key == key
    return (index + offset, isThere ? node.rows[offset] : nil)
  }

  subscript(index: Int) -> ResultRow {
    guard var node = root else { preconditionFailure("A result ends before this index.") }
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

  var last: ResultRow? { isEmpty ? nil : self[count - 1] }

  /// The last child that does not begin behind the key, or the first.
  private static func child(of node: Node, for key: [UInt8]) -> Int {
    var low = 1
    var high = node.children.count
    while low < high {
      let middle = (low + high) / 2
      if ResultKeys.compare(node.children[middle].firstKey, key) > 0 {
        high = middle
      } else {
        low = middle + 1
      }
    }
    return low - 1
  }

  /// The first row that does not stand before the key.
  private static func offset(in rows: [ResultRow], of key: [UInt8]) -> Int {
    var low = 0
    var high = rows.count
    while low < high {
      let middle = (low + high) / 2
      if ResultKeys.compare(rows[middle].key, key) >= 0 { high = middle } else { low = middle + 1 }
    }
    return low
  }

  // MARK: Changing

  /// Puts a row where its key belongs, in place of one with the same key. Its index.
  @discardableResult
  mutating func insert(_ row: ResultRow) -> Int {
    guard let root else {
      self.root = Node(rows: [row])
      return 0
    }
    var index = 0
    let (node, next) = Self.inserting(row, into: root, &index)
    self.root = next.map { Node(children: [node, $0]) } ?? node
    return index
  }

  /// Two nodes, if one would be too wide.
  private static func inserting(
    _ row: ResultRow, into node: Node, _ index: inout Int
  ) -> (Node, next: Node?) {
    if node.isLeaf {
      var rows = node.rows
      index += put(row, into: &rows)
      return cut(rows, Node.init(rows:))
    }
    let child = child(of: node, for: row.key)
    for sibling in 0..<child { index += node.children[sibling].count }
    let (grown, next) = inserting(row, into: node.children[child], &index)
    var children = node.children
    children[child] = grown
    if let next { children.insert(next, at: child + 1) }
    return cut(children, Node.init(children:))
  }

  private static func put(_ row: ResultRow, into rows: inout [ResultRow]) -> Int {
    let offset = offset(in: rows, of: row.key)
    if offset < rows.count, rows[offset].key == row.key {
      rows[offset] = row
    } else {
      rows.insert(row, at: offset)
    }
    return offset
  }

  private static func cut<Element>(
    _ elements: [Element], _ node: ([Element]) -> Node
  ) -> (Node, next: Node?) {
    guard elements.count > widthLimit else { return (node(elements), nil) }
    let middle = elements.count / 2
    return (node(Array(elements[..<middle])), node(Array(elements[middle...])))
  }

  /// Takes the row with the key out. Its index; nil if there is none.
  @discardableResult
  mutating func remove(_ key: [UInt8]) -> Int? {
    let (index, row) = find(key)
    guard row != nil, let root else { return nil }
    var shrunk = Self.removing(key, from: root)
    while let node = shrunk, !node.isLeaf, node.children.count == 1 { shrunk = node.children[0] }
    self.root = shrunk
    return index
  }

  /// Takes the row with the key out, if it is there, and puts another one in: their indexes, the new one's
  /// as it is when the old one is gone.
  mutating func replace(_ key: [UInt8], with row: ResultRow) -> (old: Int?, new: Int) {
    guard let root, root.isLeaf else { return (remove(key), insert(row)) }
    // The usual result is small: one node is made anew, and not one without the row in between.
    let offset = Self.offset(in: root.rows, of: key)
    guard offset < root.rows.count, root.rows[offset].key == key else { return (nil, insert(row)) }
    var rows = root.rows
    rows.remove(at: offset)
    let index = Self.put(row, into: &rows)
    self.root = Node(rows: rows)
    return (offset, index)
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
      ? cut(left.rows + right.rows, Node.init(rows:))
      : cut(left.children + right.children, Node.init(children:))
    return next.map { [node, $0] } ?? [node]
  }

  // MARK: Differences

  /// The rows that are only here, and those that are only in `other`: a document that changed is
  /// among both. Parts that both share are not looked at.
  func difference(
    to other: ResultTree
  ) -> (gone: [ResultRow], come: [ResultRow]) {
    var difference = Difference()
    difference.compare(root.map { [$0] } ?? [], other.root.map { [$0] } ?? [])
    return (difference.gone, difference.come)
  }

  private struct Difference {
    var gone: [ResultRow] = []
    var come: [ResultRow] = []

    /// Compares what is below two runs of nodes, each of one height.
    mutating func compare(_ old: [Node], _ new: [Node]) {
      let height = Swift.max(old.first?.height ?? 0, new.first?.height ?? 0)
      let left = old.first?.height == height ? old : []
      let right = new.first?.height == height ? new : []
      // The taller is opened until both are of the same height.
      if left.isEmpty, !old.isEmpty { return compare(old, Difference.open(right)) }
      if right.isEmpty, !new.isEmpty { return compare(Difference.open(left), new) }
      var places: [ObjectIdentifier: Int] = [:]
      for (index, node) in right.enumerated() { places[ObjectIdentifier(node)] = index }
      var (start, otherStart) = (0, 0)
      // Nodes that both have stand in the same order in both.
      for (index, node) in left.enumerated() {
        guard let place = places[ObjectIdentifier(node)] else { continue }
        compareUnshared(left[start..<index], right[otherStart..<place])
        (start, otherStart) = (index + 1, place + 1)
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

    private mutating func compareRows(_ old: [ResultRow], _ new: [ResultRow]) {
      var (index, other) = (0, 0)
      while index < old.count || other < new.count {
        let order =
          index == old.count
          ? 1 : other == new.count ? -1 : ResultKeys.compare(old[index].key, new[other].key)
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
    /// The nodes on the way down, and which child comes next.
    private var way: [(node: Node, next: Int)] = []

    init(_ root: Node?) { if let root { way.append((root, 0)) } }

    mutating func next() -> ResultRow? {
      while let (node, next) = way.last {
        guard next < node.width else {
          way.removeLast()
          continue
        }
        way[way.count - 1].next += 1
        if node.isLeaf { return node.rows[next] }
        way.append((node.children[next], 0))
      }
      return nil
    }
  }

  func makeIterator() -> Iterator { Iterator(root) }
}
