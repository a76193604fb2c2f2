import Foundation
import Hearth
import HearthTesting
import ParseSwift
import TestSupport
import Testing

/// A node of a random graph.
struct Node: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var label: Int?
  var tags: [String]?
  var leaf: Leaf?
  var leaves: [Leaf]?
}

struct Leaf: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var value: Int?
}

/// Random saves, changes, deletions and relations, beside a reference of dictionaries: every query, and
/// the last event of every live query, is what the reference has.
@Suite struct ObjectModelTests {
  /// Objects by their ids.
  private struct Reference {
    struct StoredNode: Equatable {
      var label: Int?
      var tags: [String]?
      var leaf: String?
      var leaves: [String]?
    }
    var nodes: [String: StoredNode] = [:]
    var leaves: [String: Int?] = [:]
    /// Of the relation "friends" from nodes to nodes, and "owns" from nodes to leaves.
    var friends: Set<[String]> = []
    var owns: Set<[String]> = []

    mutating func remove(node id: String) {
      nodes[id] = nil
      friends = friends.filter { !$0.contains(id) }
      owns = owns.filter { $0[0] != id }
    }

    mutating func remove(leaf id: String) {
      leaves[id] = nil
      owns = owns.filter { $0[1] != id }
    }
  }

  private static let scenarios = Soak.seeds(Soak.isOn ? 400 : 12)

  @Test func `random graphs are what a plain reference has`() async throws {
    for seed in Self.scenarios {
      let database = try TemporaryDatabase()
      try await ParseSwift.withFirestore(database.firestore) {
        var run = Run(seed)
        try await run.play(60, database.firestore)
      }
      try await database.firestore.terminate()
    }
  }

  private struct Run {
    let seed: UInt64
    var random: SeededGenerator
    var reference = Reference()
    /// Objects as they were read at some time.
    var held: [Node] = []

    init(_ seed: UInt64) {
      self.seed = seed
      random = SeededGenerator(seed: seed)
    }

    mutating func below(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &random) }
    mutating func node() -> String? { reference.nodes.keys.sorted().randomElement(using: &random) }
    mutating func leaf() -> String? { reference.leaves.keys.sorted().randomElement(using: &random) }

    mutating func play(_ steps: Int, _ firestore: Firestore) async throws {
      var live: [(name: String, iterator: AsyncThrowingStream<[Node], any Error>.AsyncIterator)] =
        []
      for step in 0..<steps {
        try await change()
        if step.isMultiple(of: 3) { try await check() }
        if step == 10 {
          for query in queries() {
            live.append(
              (query.name, query.query.include("leaf", "leaves").results.makeAsyncIterator()))
          }
        }
        await Task.yield()
      }
      try await check()
      // A mark that every live query has: when it is there, everything before is.
      let mark = try await Node(label: 1000, tags: ["mark", "a"]).save()
      reference.nodes[mark.id] = Reference.StoredNode(label: 1000, tags: ["mark", "a"])
      for (query, entry) in zip(queries(), live) where query.hasMark {
        var iterator = entry.iterator
        while let found = try await iterator.next() {
          guard found.contains(where: { $0.objectId == mark.objectId }) else { continue }
          let wanted = try await query.query.include("leaf", "leaves").find()
          #expect(found == wanted, "seed \(seed), \(entry.name)")
          break
        }
      }
    }

    // MARK: Changes

    mutating func change() async throws {
      switch below(12) {
      case 0...2: try await saveNew()
      case 3...5: try await saveChanged()
      case 6: try await delete()
      case 7...8: try await relate()
      case 9: try await operate()
      case 10: try await changeLeaf()
      default: try await saveList()
      }
    }

    /// With leaves that are new, known, or both.
    mutating func newNode() -> Node {
      var node = Node(label: below(10), tags: below(3) == 0 ? nil : tags())
      if below(2) == 0 { node.leaf = someLeaf() }
      if below(3) == 0 { node.leaves = (0..<below(4)).map { _ in someLeaf() } }
      return node
    }

    mutating func tags() -> [String] {
      (0..<below(4)).map { _ in ["a", "b", "c", "mark"][below(3)] }
    }

    mutating func someLeaf() -> Leaf {
      if below(2) == 0, let id = leaf() { return Leaf(objectId: id) }
      return Leaf(value: below(100))
    }

    mutating func note(_ saved: Node, of unsaved: Node) {
      let children = zip(
        [unsaved.leaf].compactMap(\.self) + (unsaved.leaves ?? []),
        [saved.leaf].compactMap(\.self) + (saved.leaves ?? []))
      for (before, after) in children where before.objectId == nil {
        reference.leaves[after.id] = .some(before.value)
      }
      reference.nodes[saved.id] = Reference.StoredNode(
        label: saved.label, tags: saved.tags, leaf: saved.leaf?.objectId,
        leaves: saved.leaves?.map(\.id))
    }

    mutating func saveNew() async throws {
      let unsaved = newNode()
      let saved = try await unsaved.save()
      #expect(saved.label == unsaved.label && saved.tags == unsaved.tags)
      note(saved, of: unsaved)
      held.append(saved)
    }

    mutating func saveList() async throws {
      let unsaved = (0..<below(4)).map { _ in newNode() }
      let saved = try await unsaved.saveAll().map { try $0.get() }
      for (before, after) in zip(unsaved, saved) { note(after, of: before) }
    }

    /// An object that was read at some time, perhaps long ago.
    mutating func saveChanged() async throws {
      guard !held.isEmpty else { return }
      let position = below(held.count)
      let old = held[position]
      var changed = old
      if below(2) == 0 { changed.label = below(3) == 0 ? nil : below(10) }
      if below(2) == 0 { changed.tags = below(3) == 0 ? nil : tags() }
      if below(2) == 0 { changed.leaf = below(3) == 0 ? nil : someLeaf() }
      guard var stored = reference.nodes[old.id] else {
        if changed.label == old.label, changed.tags == old.tags, changed.leaf == old.leaf { return }
        let error = await #expect(throws: ParseError.self) { try await changed.save() }
        #expect(error?.code == .objectNotFound, "seed \(seed)")
        held.remove(at: position)
        return
      }
      let saved = try await changed.save()
      // Only what differs from what was read is written.
      if changed.label != old.label { stored.label = changed.label }
      if changed.tags != old.tags { stored.tags = changed.tags }
      let isNewLeaf = changed.leaf.map { $0.objectId == nil } ?? false
      if isNewLeaf || changed.leaf?.objectId != old.leaf?.objectId {
        stored.leaf = saved.leaf?.objectId
        if isNewLeaf, let id = saved.leaf?.objectId {
          reference.leaves[id] = .some(changed.leaf?.value)
        }
      }
      reference.nodes[old.id] = stored
      held[position] = saved
    }

    mutating func delete() async throws {
      if below(2) == 0, let id = node() {
        try await Node(objectId: id).delete()
        reference.remove(node: id)
      } else if let id = leaf() {
        try await Leaf(objectId: id).delete()
        reference.remove(leaf: id)
      }
    }

    mutating func relate() async throws {
      guard let one = node() else { return }
      let parent = Node(objectId: one)
      let isAdded = below(3) != 0
      if below(2) == 0 {
        let others = (0..<below(4)).compactMap { _ in node() }
        let objects = others.map { Node(objectId: $0) }
        _ =
          try await isAdded
          ? parent.operation.addRelation("friends", objects: objects).save()
          : parent.operation.removeRelation("friends", objects: objects).save()
        for other in others {
          if isAdded {
            reference.friends.insert([one, other])
          } else {
            reference.friends.remove([one, other])
          }
        }
      } else {
        let others = (0..<below(4)).compactMap { _ in leaf() }
        let objects = others.map { Leaf(objectId: $0) }
        _ =
          try await isAdded
          ? parent.operation.addRelation("owns", objects: objects).save()
          : parent.operation.removeRelation("owns", objects: objects).save()
        for other in others {
          if isAdded {
            reference.owns.insert([one, other])
          } else {
            reference.owns.remove([one, other])
          }
        }
      }
    }

    mutating func operate() async throws {
      guard let id = node(), var stored = reference.nodes[id] else { return }
      let amount = below(5)
      let more = tags()
      let saved = try await Node(objectId: id).operation.increment("label", by: amount)
        .add("tags", objects: more).save()
      stored.label = (stored.label ?? 0) + amount
      stored.tags = (stored.tags ?? []) + more
      reference.nodes[id] = stored
      #expect(saved.label == stored.label && saved.tags == stored.tags, "seed \(seed)")
    }

    mutating func changeLeaf() async throws {
      guard let id = leaf() else { return }
      let value = below(100)
      try await Leaf(objectId: id, value: value).save()
      reference.leaves[id] = .some(value)
    }

    // MARK: Queries

    struct NamedQuery {
      var name: String
      var hasMark: Bool
      var query: NodeQuery
      var holds: (Reference.StoredNode, Reference) -> Bool
    }

    func queries() -> [NamedQuery] {
      let low = Leaf.query("value" < 50)
      func isLow(_ id: String?, _ reference: Reference) -> Bool {
        guard let id, let value = reference.leaves.value(id) else { return false }
        return value < 50
      }
      var queries: [NamedQuery] = []
      func add(
        _ name: String, hasMark: Bool = true, _ constraints: [QueryConstraint],
        _ holds: @escaping (Reference.StoredNode, Reference) -> Bool
      ) {
        queries.append(
          NamedQuery(name: name, hasMark: hasMark, query: Node.query(constraints), holds: holds))
      }
      add("all", []) { _, _ in true }
      add("label", ["label" > 4]) { node, _ in (node.label ?? 0) > 4 }
      add("tags", ["tags" == "a"]) { node, _ in node.tags?.contains("a") == true }
      add("tags within", [containedBy(key: "tags", array: ["a", "mark"])]) { node, _ in
        node.tags?.allSatisfy { ["a", "mark"].contains($0) } == true
      }
      add("leaf", hasMark: false, ["leaf" == low]) { node, all in isLow(node.leaf, all) }
      add("no leaf", ["leaf" != low]) { node, all in !isLow(node.leaf, all) }
      add("leaves", hasMark: false, ["leaves" == low]) { node, all in
        node.leaves?.contains { isLow($0, all) } == true
      }
      return queries
    }

    mutating func check() async throws {
      for query in queries() {
        let wanted = reference.nodes.filter { query.holds($0.value, reference) }
        let found = try await query.query.include("leaf", "leaves").find()
        #expect(found.map(\.id) == wanted.keys.sorted(), "seed \(seed), \(query.name)")
        let count = try await query.query.count()
        #expect(count == wanted.count, "seed \(seed), count of \(query.name)")
        for node in found {
          guard let stored = wanted[node.id] else { continue }
          #expect(node.label == stored.label && node.tags == stored.tags, "seed \(seed)")
          #expect(node.leaf?.objectId == stored.leaf, "seed \(seed)")
          #expect(node.leaves?.map(\.id) == stored.leaves, "seed \(seed)")
          for leaf in [node.leaf].compactMap(\.self) + (node.leaves ?? []) {
            #expect(leaf.value == reference.leaves.value(leaf.id), "seed \(seed)")
          }
        }
        if below(4) == 0 { held.append(contentsOf: found.prefix(2)) }
      }
      guard let id = node() else { return }
      let parent = Node(objectId: id)
      let friends = reference.friends.filter { $0[0] == id }.map { $0[1] }.sorted()
      let owned = reference.owns.filter { $0[0] == id }.map { $0[1] }.sorted()
      let skip = below(3)
      let all = try await Node.queryRelations("friends", parent: parent).find()
      let page = try await Node.queryRelations("friends", parent: parent).skip(skip).limit(2).find()
      let count = try await Node.queryRelations("friends", parent: parent).count()
      #expect(all.map(\.id) == friends && count == friends.count, "seed \(seed)")
      #expect(page == Array(all.dropFirst(skip).prefix(2)), "seed \(seed)")
      let next = try await Node.queryRelations("friends", parent: parent).limit(3).after(page.last)
        .find()
      let after = page.last.map { last in all.filter { $0.id > last.id } } ?? all
      #expect(next == Array(after.prefix(3)), "seed \(seed)")
      let leaves = try await Leaf.queryRelations("owns", parent: parent).where("value" < 50).find()
      let low = owned.filter { reference.leaves.value($0).map { $0 < 50 } == true }
      #expect(leaves.map(\.id) == low, "seed \(seed)")
      guard let child = leaf() else { return }
      let owners = reference.owns.filter { $0[1] == child }.map { $0[0] }.sorted()
      let found = try await Node.queryRelations("owns", child: Leaf(objectId: child)).find()
      let first = try await Node.queryRelations("owns", child: Leaf(objectId: child)).limit(2)
        .find()
      #expect(found.map(\.id) == owners && first == Array(found.prefix(2)), "seed \(seed)")
    }
  }
}

extension [String: Int?] {
  fileprivate func value(_ id: String) -> Int? { self[id] ?? nil }
}
