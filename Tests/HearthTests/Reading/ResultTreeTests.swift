import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite(.ownThreads) struct ResultTreeTests {
  private func row(_ number: Int, version: Int64 = 0) -> ResultRow {
    ResultRow(
      key: [UInt8(number >> 8), UInt8(number & 0xFF)],
      document: StoredDocument(
        path: ResourcePath(["a", "\(number)"]), sequence: 1,
        createTime: Instant(microseconds: version), updateTime: Instant(microseconds: version),
        body: .empty))
  }

  @Test(arguments: 0..<20)
  func `a tree of rows does what a sorted array does`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let range = 1 + generator.below(3000)
    let first = Set((0..<generator.below(2000)).map { _ in generator.below(range) }).sorted()
    var tree = ResultTree(sorted: first.map { row($0) })
    var numbers = first
    let taken = tree
    for step in 0..<3000 {
      let number = generator.below(range)
      // Now more comes, now more goes.
      if generator.below(10) < (step / 500 % 2 == 0 ? 7 : 3) {
        let index = numbers.firstIndex { $0 >= number } ?? numbers.count
        #expect(tree.insert(row(number)) == index)
        if index == numbers.count || numbers[index] != number { numbers.insert(number, at: index) }
      } else {
        let index = numbers.firstIndex(of: number)
        #expect(tree.remove(row(number).key) == index)
        if let index { numbers.remove(at: index) }
      }
      #expect(tree.count == numbers.count)
      if step % 100 == 0 { expect(tree, holds: numbers, &generator, range) }
    }
    expect(tree, holds: numbers, &generator, range)
    // Whoever took the tree before has what it was.
    #expect(taken.map { Int($0.document.path.id) } == first.map { $0 })
    while let last = tree.last { tree.remove(last.key) }
    #expect(tree.isEmpty)
  }

  private func expect(
    _ tree: ResultTree, holds numbers: [Int], _ generator: inout SeededGenerator, _ range: Int
  ) {
    #expect(tree.map { Int($0.document.path.id) } == numbers.map { $0 })
    for index in numbers.indices.prefix(5) { #expect(tree[index].key == row(numbers[index]).key) }
    let number = generator.below(range)
    let (index, found) = tree.find(row(number).key)
    #expect(index == numbers.count { $0 < number })
    #expect((found != nil) == numbers.contains(number))
    #expect(tree.widths.allSatisfy { $0 >= 1 && $0 <= ResultTree.widthLimit })
  }

  @Test(arguments: 0..<30)
  func `the difference of two trees is what one has and the other has not`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let range = 4000
    var versions: [Int: Int64] = [:]
    for _ in 0..<generator.below(3000) { versions[generator.below(range)] = 0 }
    let old = ResultTree(sorted: versions.keys.sorted().map { row($0) })
    var new = old
    let before = versions
    for _ in 0..<generator.below(seed % 3 == 0 ? 3000 : 8) {
      let number = generator.below(range)
      if generator.one(in: 2) {
        versions[number] = nil
        new.remove(row(number).key)
      } else {
        versions[number] = 1
        new.insert(row(number, version: 1))
      }
    }
    for other in [new, ResultTree(sorted: Array(new))] {
      let (gone, come) = old.difference(to: other)
      #expect(
        gone.compactMap { Int($0.document.path.id) }
          == before.keys.filter { versions[$0] != 0 }.sorted())
      #expect(
        come.compactMap { Int($0.document.path.id) }
          == versions.keys.filter { versions[$0] == 1 }.sorted())
    }
  }

  @Test func `a change leaves nearly all of a large tree shared`() {
    let old = ResultTree(sorted: (0..<60_000).map { row($0) })
    var new = old
    new.insert(row(30_000, version: 1))
    let shared = old.nodes.intersection(new.nodes).count
    #expect(new.nodes.count - shared <= 5)
  }
}

extension ResultTree {
  fileprivate var nodes: Set<ObjectIdentifier> {
    var nodes: Set<ObjectIdentifier> = []
    walk { nodes.insert(ObjectIdentifier($0)) }
    return nodes
  }

  fileprivate var widths: [Int] {
    var widths: [Int] = []
    walk { widths.append($0.width) }
    return widths
  }

  private func walk(_ body: (Node) -> Void) {
    func visit(_ node: Node) {
      body(node)
      node.children.forEach(visit)
    }
    top.forEach(visit)
  }
}
