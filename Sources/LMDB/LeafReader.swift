import CLMDB
import Glibc

/// The leaf pages of a table as one read transaction sees it, for several threads to share.
///
///     branch pages ─▶ numbers of leaf pages      by who deals them out
///     leaf page    ─▶ its entries                by any thread
///
/// A cursor has one user. But the pages of a commit do not change as long as a transaction reads it, and
/// are found by their numbers: nobody needs a cursor, nor a transaction of his own.
///
/// Valid as long as its transaction, and so are keys and values. Looks at bounds before it follows them: a
/// damaged page throws.
public struct LeafReader {
  private let map: UnsafeRawPointer
  private let pageSize: Int
  private let lastPage: UInt64
  private let root: UInt64
  private let depth: Int
  /// On average, of all the table.
  public let entriesPerPage: Int

  /// The table's record says where its root is, and its address, with the number in the head of its page,
  /// where the file is mapped.
  ///
  /// - Parameter mapped: How many bytes of the file are mapped.
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
    // The number may be wrong: asks before it looks.
    var residence: [UInt8] = [0, 0]
    guard mincore(UnsafeMutableRawPointer(mutating: map), 2 * pageSize, &residence) == 0,
      map.load(fromByteOffset: 16, as: UInt32.self) == FileHeader.magic,
      map.load(fromByteOffset: 40, as: UInt32.self) == UInt32(pageSize)
    else { return nil }
    self.map = map
    self.pageSize = pageSize
    // Of the newest commit: the file never shrinks. Another process may have made it larger than the map.
    let newest = max(
      map.load(fromByteOffset: 136, as: UInt64.self),
      map.load(fromByteOffset: pageSize + 136, as: UInt64.self))
    lastPage = min(newest, UInt64(mapped / pageSize - 1))
    root = tree.root
    depth = Int(tree.depth)
    entriesPerPage = Int(clamping: tree.entries / max(1, tree.pages[1]))
  }

  /// Calls `body` with the pages that may hold keys from `lowest` on and below `end`, in the order of
  /// their keys, until it is false.
  ///
  /// - Parameter body: `separator` is above all keys of the pages before, and at or below those of this
  ///   one; nil for the first of the table.
  public func forEachPage(
    from lowest: UnsafeRawBufferPointer, below end: UnsafeRawBufferPointer?,
    _ body: (_ page: UInt64, _ separator: UnsafeRawBufferPointer?) throws -> Bool
  ) throws {
    _ = try walk(root, depth, nil, lowest, end, body)
  }

  private func walk(
    _ page: UInt64, _ depth: Int, _ separator: UnsafeRawBufferPointer?,
    _ lowest: UnsafeRawBufferPointer, _ end: UnsafeRawBufferPointer?,
    _ body: (UInt64, UnsafeRawBufferPointer?) throws -> Bool
  ) throws -> Bool {
    guard depth > 1 else { return try body(page, separator) }
    let nodes = NodePage(try bytes(of: page))
    guard nodes.isReadable(isLeaf: false), nodes.count > 0 else { throw LMDBError.corrupted }
    func node(_ index: Int) throws -> NodePage.Node {
      guard let node = nodes.readableNode(index) else { throw LMDBError.corrupted }
      return node
    }
    var index = 0
    while index + 1 < nodes.count, try compare(node(index + 1).key, lowest) <= 0 { index += 1 }
    var key = index == 0 ? separator : try node(index).key
    while true {
      guard try walk(node(index).child, depth - 1, key, lowest, end, body) else { return false }
      index += 1
      guard index < nodes.count else { return true }
      let next = try node(index).key
      if let end, compare(next, end) >= 0 { return false }
      key = next
    }
  }

  /// Asks the memory for where the entries of a page begin, before they are needed.
  public func prefetch(_ page: UInt64) {
    guard page <= lastPage else { return }
    let start = map + Int(page) * pageSize
    hearth_prefetch(start)
    // Entries put in order stand one below the other.
    for line in 1...10 { hearth_prefetch(start + pageSize - line * 64) }
  }

  /// The entries of a page that `forEachPage` has told.
  public func page(_ number: UInt64) throws -> LeafPage {
    let nodes = NodePage(try bytes(of: number))
    guard nodes.isReadable(isLeaf: true) else { throw LMDBError.corrupted }
    return LeafPage(nodes: nodes, leaves: self)
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

  private func compare(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
    if let first = one.baseAddress, let second = other.baseAddress {
      let order = memcmp(first, second, min(one.count, other.count))
      if order != 0 { return Int(order) }
    }
    return one.count - other.count
  }
}

/// The entries of one leaf page.
public struct LeafPage {
  fileprivate let nodes: NodePage
  fileprivate let leaves: LeafReader

  public var count: Int { nodes.count }

  public func entry(
    _ index: Int
  ) throws -> (key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    guard let node = nodes.readableNode(index) else { throw LMDBError.corrupted }
    if index + 1 < count { nodes.prefetch(index + 1) }
    if node.flags == 0 { return (node.key, node.data) }
    guard node.flags == NodePage.large else { throw LMDBError.corrupted }
    let page = node.data.loadUnaligned(as: UInt64.self)
    return (node.key, try leaves.largeValue(at: page, count: node.valueSize))
  }
}

extension Snapshot {
  /// Nil where they cannot be had: in a write transaction, whose pages are not all in the file yet; where
  /// tests lend copies or make calls fail; of an empty table.
  public func leaves(_ table: Table) throws(LMDBError) -> LeafReader? {
    guard isLive else { throw failure(LMDBError.transactionEnded.code, "leaves") }
    let environment = cell.pointee.environment
    guard !cell.pointee.isInstrumented, cell != environment.gate.writerCell else { return nil }
    // The table of tables is always the second.
    let tables: MDB_dbi = 1
    var statistics = MDB_stat()
    var info = MDB_envinfo()
    guard mdb_stat(transaction, tables, &statistics) == MDB_SUCCESS,
      mdb_env_info(mdb_txn_env(transaction), &info) == MDB_SUCCESS
    else { return nil }
    var name = table.name
    return name.withUTF8 { name in
      var key = MDB_val(UnsafeRawBufferPointer(name))
      var record = MDB_val()
      guard mdb_get(transaction, tables, &key, &record) == MDB_SUCCESS else { return nil }
      return LeafReader(
        record.bytes, pageSize: Int(statistics.ms_psize), mapped: Int(info.me_mapsize))
    }
  }
}
