import CLMDB
import Glibc

/// The leaf pages of a table as one read transaction sees it, for several threads to share.
///
///     branch pages ─▶ numbers of leaf pages      read by the thread that distributes them
///     leaf page    ─▶ its entries                read by any thread
///
/// A cursor can be used by one thread only. But the pages of a commit do not change while a
/// transaction reads it, and are found by number: a thread needs neither a cursor nor its own
/// transaction.
///
/// Valid as long as its transaction, and so are keys and values. Bounds are checked before they are
/// followed: a damaged page throws `corrupted` or `pageNotFound`.
public struct LeafReader {
  private let map: UnsafeRawPointer
  private let pageSize: Int
  private let lastPage: UInt64
  fileprivate let root: UInt64
  fileprivate let depth: Int
  /// The average over the whole table.
  public let entriesPerPage: Int

  /// The table's record gives the page of its root. The record's address, and the page number at
  /// the start of its page, give the address of the map.
  ///
  /// - Parameter mapped: The number of mapped bytes.
  fileprivate init?(_ record: UnsafeRawBufferPointer, pageSize: Int, mapped: Int) {
    guard pageSize <= Int(getpagesize()), let tree = FileHeader.Tree(record),
      tree.root != FileHeader.noRoot, (1...FileHeader.maximumDepth).contains(tree.depth),
      let address = record.baseAddress.map({ UInt(bitPattern: $0) })
    else { return nil }
    let page = address & ~UInt(pageSize - 1)
    guard let number = UnsafeRawPointer(bitPattern: page)?.load(as: UInt64.self),
      case let (offset, overflow) = UInt(number).multipliedReportingOverflow(by: UInt(pageSize)),
      !overflow, offset < page, let map = UnsafeRawPointer(bitPattern: page - offset)
    else { return nil }
    // The number may be wrong: checks that the address is mapped before it reads there.
    var residence: [UInt8] = [0, 0]
    guard mincore(UnsafeMutableRawPointer(mutating: map), 2 * pageSize, &residence) == 0,
      map.load(fromByteOffset: 16, as: UInt32.self) == FileHeader.magic,
      map.load(fromByteOffset: 40, as: UInt32.self) == UInt32(pageSize)
    else { return nil }
    self.map = map
    self.pageSize = pageSize
    // Of the newest commit: the file never shrinks. Another process may have grown it beyond the
    // map.
    let newest = max(
      map.load(fromByteOffset: 136, as: UInt64.self),
      map.load(fromByteOffset: pageSize + 136, as: UInt64.self))
    lastPage = min(newest, UInt64(mapped / pageSize - 1))
    root = tree.root
    depth = Int(tree.depth)
    entriesPerPage = Int(clamping: tree.entries / max(1, tree.pages[1]))
  }

  /// Calls `body` with the pages that may hold keys at or above `lowest` and below `end`, in key
  /// order, until it returns false.
  ///
  /// - Parameters:
  ///   - lowest: The lowest key, inclusive.
  ///   - end: The end of the keys, exclusive; nil for the end of the table.
  ///   - body: `separator` is above all keys of the pages before, and at or below those of this one;
  ///     nil for the first page of the table.
  public func forEachPage(
    from lowest: UnsafeRawBufferPointer, below end: UnsafeRawBufferPointer?,
    _ body: (_ page: UInt64, _ separator: UnsafeRawBufferPointer?) throws -> Bool
  ) throws {
    _ = try walk(root, depth, nil, lowest, end, body)
  }

  /// The number of entries whose keys are at or above `lowest` and below `end`, or `limit` if there are
  /// more. Nil if one of these keys has `keySize` bytes.
  ///
  /// Compares keys only of the pages at both ends, and reads the sizes of keys only where a node may be
  /// so large. Calls `beforePage` before each page; an error that it throws ends the count.
  public func count(
    from lowest: UnsafeRawBufferPointer, below end: UnsafeRawBufferPointer, upTo limit: Int,
    withoutKeysOf keySize: Int, beforePage: () throws -> Void
  ) throws -> Int? {
    var count = 0
    var isFirst = true
    var isOther = false
    try forEachPage(from: lowest, below: end) { number, _ in
      try beforePage()
      let nodes = try leaf(number)
      if nodes.count == 0 { return true }
      let isInside = try !isFirst && compareKeys(node(nodes, nodes.count - 1).key, end) < 0
      isFirst = false
      if isInside, nodes.areSmaller(than: NodePage.nodeHeaderSize + keySize) {
        count += nodes.count
        return count < limit
      }
      for index in 0..<nodes.count {
        let key = try node(nodes, index).key
        if !isInside, compareKeys(key, lowest) < 0 || compareKeys(key, end) >= 0 { continue }
        isOther = key.count == keySize
        if isOther { return false }
        count += 1
      }
      return count < limit
    }
    return isOther ? nil : min(count, limit)
  }

  private func walk(
    _ page: UInt64, _ depth: Int, _ separator: UnsafeRawBufferPointer?,
    _ lowest: UnsafeRawBufferPointer, _ end: UnsafeRawBufferPointer?,
    _ body: (UInt64, UnsafeRawBufferPointer?) throws -> Bool
  ) throws -> Bool {
    guard depth > 1 else { return try body(page, separator) }
    let nodes = try branch(page)
    var index = try child(of: nodes, with: lowest)
    var key = index == 0 ? separator : try node(nodes, index).key
    while true {
      let child = try node(nodes, index).child
      guard try walk(child, depth - 1, key, lowest, end, body) else { return false }
      index += 1
      guard index < nodes.count else { return true }
      let next = try node(nodes, index).key
      if let end, compareKeys(next, end) >= 0 { return false }
      key = next
    }
  }

  fileprivate func branch(_ page: UInt64) throws -> NodePage {
    let nodes = try nodes(of: page, isLeaf: false)
    guard nodes.count > 0 else { throw LMDBError.corrupted }
    return nodes
  }

  private func leaf(_ page: UInt64) throws -> NodePage { try nodes(of: page, isLeaf: true) }

  private func nodes(of page: UInt64, isLeaf: Bool) throws -> NodePage {
    let nodes = NodePage(try bytes(of: page))
    guard nodes.isReadable(isLeaf: isLeaf) else { throw LMDBError.corrupted }
    return nodes
  }

  fileprivate func node(_ nodes: NodePage, _ index: Int) throws -> NodePage.Node {
    guard let node = nodes.readableNode(index) else { throw LMDBError.corrupted }
    return node
  }

  /// The index of the child whose pages hold `lowest`, if any page does: where a scan from it begins.
  fileprivate func child(of nodes: NodePage, with lowest: UnsafeRawBufferPointer) throws -> Int {
    var index = 0
    while index + 1 < nodes.count, try compareKeys(node(nodes, index + 1).key, lowest) <= 0 {
      index += 1
    }
    return index
  }

  /// Prefetches the header of a page and the probable place of its first entries.
  public func prefetch(_ page: UInt64) {
    guard let start = address(page) else { return }
    hearth_prefetch(start)
    // Entries put in order lie one below the other, beginning at the end of the page.
    for line in 1...10 { hearth_prefetch(start + pageSize - line * 64) }
  }

  /// Nil for a page that is not in the file.
  fileprivate func address(_ page: UInt64) -> UnsafeRawPointer? {
    page <= lastPage ? map + Int(page) * pageSize : nil
  }

  /// The entries of a page whose number `forEachPage` passed to its body.
  public func page(_ number: UInt64) throws -> LeafPage {
    LeafPage(nodes: try leaf(number), leaves: self)
  }

  fileprivate func bytes(of page: UInt64, count: UInt64 = 1) throws -> UnsafeRawBufferPointer {
    guard page >= 2, page <= lastPage, count <= lastPage - page + 1 else {
      throw LMDBError.pageNotFound
    }
    let start = map + Int(page) * pageSize
    guard start.load(as: UInt64.self) == page else { throw LMDBError.corrupted }
    return UnsafeRawBufferPointer(start: start, count: Int(count) * pageSize)
  }

  fileprivate func largeValue(at page: UInt64, count: Int) throws -> UnsafeRawBufferPointer {
    let pages = (NodePage.headerSize + count + pageSize - 1) / pageSize
    let bytes = try bytes(of: page, count: UInt64(pages))
    guard bytes.load(fromByteOffset: 10, as: UInt16.self) == NodePage.overflowPage else {
      throw LMDBError.corrupted
    }
    return UnsafeRawBufferPointer(rebasing: bytes[NodePage.headerSize...].prefix(count))
  }
}

/// Reads the entries of a table forward from a key, as a cursor does, in less time for each entry.
///
///     if let walk = try snapshot.walk(table, from: lowest) {
///       while let (key, value) = try walk.next() { print(key.count, value.count) }
///     }
///
/// Not thread-safe.
public final class LeafWalk {
  // Exclusivity is unchecked: one thread uses this, no property is accessed again while it is
  // modified, and a check costs as much as the step it guards.
  private let snapshot: Snapshot
  private let leaves: LeafReader
  /// The branch pages from the root down, and the number of the child in each.
  @exclusivity(unchecked) private var branches: [(nodes: NodePage, index: Int)] = []
  @exclusivity(unchecked) private var page: LeafPage
  /// Of the next entry in `page`.
  @exclusivity(unchecked) private var index = 0
  /// The page that follows, prefetched line by line: entries are not in the order of their addresses.
  @exclusivity(unchecked) private var ahead: UnsafeRawPointer?

  fileprivate init(
    _ leaves: LeafReader, of snapshot: Snapshot, from lowest: UnsafeRawBufferPointer
  ) throws {
    self.snapshot = snapshot
    self.leaves = leaves
    var number = leaves.root
    for _ in 1..<leaves.depth {
      let nodes = try leaves.branch(number)
      let index = try leaves.child(of: nodes, with: lowest)
      branches.append((nodes, index))
      number = try leaves.node(nodes, index).child
    }
    page = try leaves.page(number)
    while index < page.count, try compareKeys(page.entry(index).key, lowest) < 0 { index += 1 }
  }

  /// The next entry; nil at the end of the table.
  ///
  /// Throws `corrupted` or `pageNotFound` if a page is damaged, and `transactionEnded`.
  public func next() throws -> (
    key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
  )? {
    guard snapshot.isLive else {
      throw snapshot.failure(LMDBError.transactionEnded.code, "walk")
    }
    while index >= page.count { guard try nextPage() else { return nil } }
    if let ahead, index < Self.linesPerPage { hearth_prefetch(ahead + index * 64) }
    let entry = try page.entry(index, prefetchesNext: false)
    index += 1
    return entry
  }

  private static let linesPerPage = 64

  private func nextPage() throws -> Bool {
    ahead = nil
    while let (nodes, index) = branches.popLast() {
      guard index + 1 < nodes.count else { continue }
      branches.append((nodes, index + 1))
      var number = try leaves.node(nodes, index + 1).child
      while branches.count < leaves.depth - 1 {
        let nodes = try leaves.branch(number)
        branches.append((nodes, 0))
        number = try leaves.node(nodes, 0).child
      }
      page = try leaves.page(number)
      self.index = 0
      if let (nodes, index) = branches.last, index + 1 < nodes.count {
        ahead = try leaves.address(leaves.node(nodes, index + 1).child)
      }
      return true
    }
    return false
  }
}

/// The entries of one leaf page.
public struct LeafPage {
  fileprivate let nodes: NodePage
  fileprivate let leaves: LeafReader

  /// The number of entries.
  public var count: Int { nodes.count }

  /// The entry at `index`. Throws `corrupted` or `pageNotFound` if the page is damaged.
  @inline(__always)
  public func entry(
    _ index: Int, prefetchesNext: Bool = true
  ) throws -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    guard let node = nodes.readableNode(index) else { throw LMDBError.corrupted }
    if prefetchesNext, index + 1 < count { nodes.prefetch(index + 1) }
    if node.flags == 0 { return (node.key, node.data) }
    guard node.flags == NodePage.large else { throw LMDBError.corrupted }
    let page = node.data.loadUnaligned(as: UInt64.self)
    return (node.key, try leaves.largeValue(at: page, count: node.valueSize))
  }
}

extension Snapshot {
  /// The leaf pages of a table. Nil if they cannot be read this way: in a write transaction, whose
  /// pages are not all in the file yet; if tests copy borrowed bytes or inject faults; for an empty
  /// table.
  public func leaves(_ table: Table) throws(LMDBError) -> LeafReader? {
    guard isLive else { throw failure(LMDBError.transactionEnded.code, "leaves") }
    let environment = cell.pointee.environment
    guard PageLayout.isKnown, !cell.pointee.isInstrumented, cell != environment.lock.writerCell
    else { return nil }
    // The table of tables always has the second handle.
    let tables: MDB_dbi = 1
    var statistics = MDB_stat()
    var info = MDB_envinfo()
    guard mdb_stat(transaction, tables, &statistics) == MDB_SUCCESS,
      mdb_env_info(mdb_txn_env(transaction), &info) == MDB_SUCCESS
    else { return nil }
    var name = table.name
    let leaves: LeafReader? = name.withUTF8 { name in
      var key = MDB_val(UnsafeRawBufferPointer(name))
      var record = MDB_val()
      guard mdb_get(transaction, tables, &key, &record) == MDB_SUCCESS else { return nil }
      return LeafReader(
        record.bytes, pageSize: Int(statistics.ms_psize), mapped: Int(info.me_mapsize))
    }
    return leaves.flatMap { agrees($0, table) ? $0 : nil }
  }

  /// A walk from the first entry whose key is at or above `lowest`. Nil if `leaves` is nil.
  ///
  /// To begin a walk takes as much time as a hundred of its steps save: use a cursor for fewer entries.
  ///
  /// Throws `corrupted` or `pageNotFound` if a page is damaged.
  public func walk(_ table: Table, from lowest: UnsafeRawBufferPointer) throws -> LeafWalk? {
    try leaves(table).map { try LeafWalk($0, of: self, from: lowest) }
  }

  /// Whether LMDB's own cursor finds the table's first entry at the address where `leaves` does. If
  /// not, the pages are not laid out as `LeafReader` expects, and cursors have to be used.
  private func agrees(_ leaves: LeafReader, _ table: Table) -> Bool {
    var first: UnsafeRawPointer?
    do {
      try leaves.forEachPage(from: UnsafeRawBufferPointer(start: nil, count: 0), below: nil) {
        page, _ in
        first = try leaves.page(page).entry(0).key.baseAddress
        return false
      }
    } catch {
      // Damage: reading throws it again, where a cursor might end the process.
      return true
    }
    guard var cursor = try? cursor(table), (try? cursor.first()) == true else { return false }
    return cursor.key.baseAddress == first
  }
}

/// Whether this LMDB lays out pages as `LeafReader` reads them.
enum PageLayout {
  static let isKnown: Bool = {
    var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
    _ = mdb_version(&major, &minor, &patch)
    return isKnown(major: major, minor: minor)
  }()

  /// LMDB 0.9: a header of 16 bytes, node offsets of 2 bytes, two meta pages. LMDB 1.0 changes them.
  static func isKnown(major: Int32, minor: Int32) -> Bool { major == 0 && minor == 9 }
}
