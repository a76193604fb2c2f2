/// Intervals of bytes, with their owners: finds those that contain a point without visiting the
/// others.
///
///             [c, f] ≤ k          ordered by the lower end; a node knows the highest upper end
///             ╱      ╲             below it, so that whole branches are skipped
///        [a, k]      [d, e]
///
/// A treap: random priorities keep it balanced. Finding k of n costs about k · log n at worst.
struct IntervalTree<Owner: AnyObject> {
  /// Both ends are included.
  struct Interval: Equatable {
    var lower: [UInt8]
    var upper: [UInt8]
  }

  private final class Node {
    let interval: Interval
    let owner: Owner
    let priority = UInt64.random(in: 0...UInt64.max)
    var highest: [UInt8]
    var left: Node?
    var right: Node?

    init(_ interval: Interval, _ owner: Owner) {
      self.interval = interval
      self.owner = owner
      highest = interval.upper
    }

    func update() {
      highest = interval.upper
      for child in [left, right] {
        if let child, UTF8Order.compare(child.highest, highest) > 0 { highest = child.highest }
      }
    }

    /// By lower end, then by owner, then by upper end.
    func isBefore(_ interval: Interval, _ owner: Owner) -> Bool {
      let order = UTF8Order.compare(self.interval.lower, interval.lower)
      if order != 0 { return order < 0 }
      guard self.owner === owner else {
        return ObjectIdentifier(self.owner) < ObjectIdentifier(owner)
      }
      return UTF8Order.compare(self.interval.upper, interval.upper) < 0
    }
  }

  private var root: Node?
  private(set) var count = 0

  var isEmpty: Bool { root == nil }

  mutating func insert(_ interval: Interval, _ owner: Owner) {
    let (left, right) = Self.split(root, interval, owner)
    root = Self.join(Self.join(left, Node(interval, owner)), right)
    count += 1
  }

  /// Removes the owner's interval; one of several that are equal.
  mutating func remove(_ interval: Interval, _ owner: Owner) {
    var isFound = false
    root = Self.removing(interval, owner, from: root, &isFound)
    if isFound { count -= 1 }
  }

  private static func removing(
    _ interval: Interval, _ owner: Owner, from node: Node?, _ isFound: inout Bool
  ) -> Node? {
    guard let node else { return nil }
    if node.owner === owner, node.interval == interval {
      isFound = true
      return join(node.left, node.right)
    }
    if node.isBefore(interval, owner) {
      node.right = removing(interval, owner, from: node.right, &isFound)
    } else {
      node.left = removing(interval, owner, from: node.left, &isFound)
    }
    node.update()
    return node
  }

  /// The nodes before the given position, and the others.
  private static func split(_ node: Node?, _ interval: Interval, _ owner: Owner) -> (Node?, Node?) {
    guard let node else { return (nil, nil) }
    if node.isBefore(interval, owner) {
      let (left, right) = split(node.right, interval, owner)
      node.right = left
      node.update()
      return (node, right)
    }
    let (left, right) = split(node.left, interval, owner)
    node.left = right
    node.update()
    return (left, node)
  }

  private static func join(_ left: Node?, _ right: Node?) -> Node? {
    guard let left else { return right }
    guard let right else { return left }
    if left.priority > right.priority {
      left.right = join(left.right, right)
      left.update()
      return left
    }
    right.left = join(left, right.left)
    right.update()
    return right
  }

  /// Calls `body` with the owner of every interval that contains the point.
  func forEach(holding point: UnsafeRawBufferPointer, _ body: (Owner) -> Void) {
    Self.visit(root, point, body)
  }

  private static func visit(
    _ node: Node?, _ point: UnsafeRawBufferPointer, _ body: (Owner) -> Void
  ) {
    guard let node, order(node.highest, point) >= 0 else { return }
    visit(node.left, point, body)
    guard order(node.interval.lower, point) <= 0 else { return }
    if order(node.interval.upper, point) >= 0 { body(node.owner) }
    visit(node.right, point, body)
  }

  private static func order(_ bytes: [UInt8], _ point: UnsafeRawBufferPointer) -> Int {
    bytes.withUnsafeBytes { UTF8Order.compare($0, point) }
  }
}
