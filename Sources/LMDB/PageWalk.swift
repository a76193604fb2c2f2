import CLMDB
import Glibc

/// The result of a walk over a file's pages, with the problems it found.
public struct FileReport: Sendable, Hashable {
  /// The number of the commit that was checked.
  public internal(set) var transactionID = 0
  /// The size of a page in bytes, from the header.
  public internal(set) var pageSizeBytes = 0
  /// The size of the file in bytes.
  public internal(set) var fileSizeBytes = 0
  /// Pages reached from the root: those of trees, and those of large values.
  public internal(set) var usedPages = 0
  /// The number of pages that the list of free pages has. Complete if `knowsFreePages`.
  public internal(set) var freePages = 0
  /// The number of entries reached in each table.
  public internal(set) var entries: [String: Int] = [:]
  /// Whether the list of free pages was read to its end without a problem.
  public internal(set) var knowsFreePages = false
  /// The first `problemLimit` problems, in the order in which they were found. Empty if the file is
  /// intact.
  public internal(set) var problems: [String] = []
  /// The number of all problems, also of those that `problems` does not list.
  public internal(set) var problemCount = 0

  /// The largest number of elements of `problems`.
  public static let problemLimit = 100

  mutating func add(_ problem: String) {
    problemCount += 1
    if problems.count < Self.problemLimit { problems.append(problem) }
  }
}

/// Checks every page of a file with `pread`, never mapped: unlike LMDB, it does not trust the
/// pages.
///
///     header ─▶ free list ─▶ every free page once
///        └────▶ table of tables ─▶ each table ─▶ branch ─▶ leaf ─▶ pages of a large value
///
/// Law: each page from 2 to the last is either reached from the root exactly once, or free exactly
/// once. So a wrong page number anywhere is detected twice: at the page it names, and at the one it
/// lost.
///
/// Also checked: a page's own number and kind; that its nodes fill it without gap or overlap; that
/// keys are in order, and between the keys above them; that depth, pages and entries match each
/// tree's record; in both headers, that the newest free pages are those of its commit.
///
/// Not detected, because they have no meaning: bytes between a page's offsets and its nodes, the
/// byte that pads a node to an even size, a wrong key above two pages that still separates them,
/// the former size of the map, and fields of the older header that only its own commit uses.
public final class PageWalk {
  /// Called with each entry of each table, and with an empty `name` for each entry of the table of
  /// tables that is not a table. The borrowed bytes are valid during the call.
  public typealias Visit = (
    _ name: String, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) throws -> Void

  private enum Kind { case free, main, table }

  private enum PageUse: UInt8 { case unseen, used, free }

  private let path: String
  private let file: PageReader
  private let visit: Visit
  private let progress: (_ pages: Int, _ of: Int) throws -> Void
  private var report = FileReport()
  private var pageSize = 0
  private var pagesPresent: UInt64 = 0
  private var lastPage: UInt64 = 0
  /// The `PageUse` of each page in the file.
  private var pageUses: [UInt8] = []
  /// Free pages beyond the end of the file: allocated and freed within one commit, never written.
  private var freeBehindEnd: Set<UInt64> = []
  private var pagesRead = 0
  private var buffers: [[UInt8]] = []
  /// The sizes of a page's nodes, indexed by half their offsets.
  private var tiles: [UInt16] = []
  private var large: [UInt8] = []
  private var tree = Counts()

  /// The counts of a walk over one tree.
  private struct Counts {
    var name = ""
    var kind = Kind.main
    var branches: UInt64 = 0
    var leaves: UInt64 = 0
    var overflow: UInt64 = 0
    var entries: UInt64 = 0
    var isIncomplete = false
    var newestFree: UInt64 = 0
  }

  /// The newest commit, and the root of the older header's free list.
  private var supersededRoot: (transactionID: UInt64, page: UInt64) = (0, 0)
  /// Whether that commit has freed that page.
  private var isRootSuperseded = false

  private init(
    _ path: String, _ file: consuming PageReader, _ visit: @escaping Visit,
    _ progress: @escaping (_ pages: Int, _ of: Int) throws -> Void
  ) {
    self.path = path
    self.visit = visit
    self.progress = progress
    self.file = file
  }

  /// Checks a file that no process writes to, or the state of one commit that a read transaction
  /// keeps.
  ///
  /// Throws `LMDBError` if the file cannot be read, `tryAgain` if the header of that commit was
  /// overwritten by a later one, and what `visit` and `progress` throw. Problems of the file are in
  /// the report.
  ///
  /// - Parameters:
  ///   - path: The file's path.
  ///   - environment: Has the file open: the open file is checked, even if another one is at the path.
  ///   - transactionID: The commit to check; nil for the newest.
  ///   - visit: Receives the entries of the tables' pages.
  ///   - progress: Receives the pages read so far, and their number.
  public static func check(
    _ path: String, openIn environment: Environment? = nil, transactionID: Int? = nil,
    visit: @escaping Visit = { _, _, _ in },
    progress: @escaping (_ pages: Int, _ of: Int) throws -> Void = { _, _ in }
  ) throws -> FileReport {
    let file =
      if let environment { try environment.openPages() } else { try PageReader(path: path) }
    let walk = PageWalk(path, file, visit, progress)
    try walk.run(transactionID)
    return walk.report
  }

  /// Checks the state of one commit, which a read transaction keeps.
  static func check(_ file: DataFile, transactionID: Int) throws -> FileReport {
    let pages = try PageReader(copying: file.anchor)
    let walk = PageWalk(file.path, pages, { _, _, _ in }, { _, _ in })
    try walk.run(transactionID)
    return walk.report
  }

  /// Reads the readable part of a damaged file.
  ///
  /// Calls `visit` with the entries that are reached, like `check`. Then calls `visitLost` with the
  /// entries of pages that are damaged, or neither reached nor known to be free. Such a page may be
  /// an old one whose entries were changed or deleted since, and its content may be wrong: verify
  /// checksums.
  public static func salvage(
    _ path: String, visit: @escaping Visit,
    visitLost: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void,
    progress: @escaping (_ pages: Int, _ of: Int) throws -> Void = { _, _ in }
  ) throws -> FileReport {
    let walk = PageWalk(path, try PageReader(path: path), visit, progress)
    try walk.run(nil)
    let report = walk.report
    try walk.lookForLost(visitLost)
    return report
  }

  /// The size of a file.
  public static func byteCount(_ path: String) throws(LMDBError) -> Int {
    Int(clamping: try PageReader(path: path).byteCount())
  }

  /// Drops the system's cache of the file, so that it is read from the disk next time.
  public static func forgetCached(_ path: String) throws(LMDBError) {
    try PageReader(path: path).forgetCached()
  }

  private func lookForLost(
    _ visitLost: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    if pageSize == 0 {
      // No header gives the page size: LMDB uses the size of the system's pages.
      pageSize = Int(getpagesize())
      pagesPresent = UInt64(report.fileSizeBytes / pageSize)
      lastPage = max(pagesPresent, 1) - 1
      pageUses = [UInt8](repeating: PageUse.unseen.rawValue, count: Int(pagesPresent))
    }
    for page in pageUses.indices.dropFirst(2) where pageUses[page] == PageUse.unseen.rawValue {
      guard try read(UInt64(page), level: 0) else { continue }
      if page % 256 == 0 { try progress(page, pageUses.count) }
      let bytes = buffers[0]
      try bytes.withUnsafeBytes { bytes in
        for node in NodePage(bytes).readableNodes() {
          if node.flags & NodePage.large == 0 {
            try visitLost(node.key, node.data)
          } else if let value = try largeValue(of: node, "page \(page)", taking: false) {
            try value.withUnsafeBytes {
              try visitLost(node.key, UnsafeRawBufferPointer(rebasing: $0[..<node.valueSize]))
            }
          }
        }
      }
    }
  }

  private func run(_ transactionID: Int?) throws {
    report.fileSizeBytes = Int(clamping: try file.byteCount())
    // An empty file is a new database.
    guard report.fileSizeBytes > 0, let headers = try readHeaders() else { return }
    let header: FileHeader
    if let transactionID {
      guard let found = headers.first(where: { $0.transactionID == UInt64(transactionID) }) else {
        throw LMDBError(EAGAIN, context: "check \(path)")
      }
      header = found
    } else {
      checkPair(headers)
      header = FileHeader.newest(of: headers)
    }
    begin(header)
    let older = headers[0].transactionID == header.transactionID ? headers[1] : headers[0]
    supersededRoot = (header.transactionID, older.free.root)
    let newestFree = try walk(header.free, .free, "the free list")
    report.knowsFreePages = report.problemCount == 0
    if transactionID == nil {
      checkNewest(newestFree, header)
      if older.transactionID != header.transactionID { try checkOlder(older, header) }
    }
    try walk(header.main, .main, "the table of tables")
    checkEveryPage()
    try progress(Int(clamping: lastPage), Int(clamping: lastPage))
  }

  private func begin(_ header: FileHeader) {
    pageSize = Int(header.pageSize)
    lastPage = header.lastPage
    pagesPresent = UInt64(report.fileSizeBytes) / header.pageSize
    report.transactionID = Int(clamping: header.transactionID)
    report.pageSizeBytes = pageSize
    pageUses = [UInt8](
      repeating: PageUse.unseen.rawValue, count: Int(min(pagesPresent, header.lastPage + 1)))
    tiles = [UInt16](repeating: 0, count: pageSize / 2)
  }

  // MARK: Headers

  private func readHeaders() throws(LMDBError) -> [FileHeader]? {
    do throws(LMDBError) {
      let headers = try FileHeader.both(in: file)
      for (page, header) in headers.enumerated() where !header.isPlain {
        report.add("header \(page): has bits set that mean nothing")
      }
      guard report.fileSizeBytes >= 2 * Int(headers[0].pageSize) else { throw .truncated }
      return headers
    } catch {
      guard error.code <= LMDBError.closed.code || error == .versionMismatch else {
        throw error.adding("check \(path)")
      }
      report.add("header: \(error.message)")
      return nil
    }
  }

  /// Commits alternate between the two headers.
  private func checkPair(_ headers: [FileHeader]) {
    let numbers = headers.map(\.transactionID)
    for (page, number) in numbers.enumerated() where number != 0 && number & 1 != UInt64(page) {
      report.add("header \(page): commit \(number) belongs into the other")
    }
    if (numbers.max() ?? 0) - (numbers.min() ?? 0) > 1 {
      report.add("header: commits \(numbers[0]) and \(numbers[1]) do not follow each other")
    }
    if headers[0].free.flags != headers[1].free.flags {
      report.add("header: the two differ in how the file was made")
    }
    let newest = FileHeader.newest(of: headers)
    for (page, header) in headers.enumerated() {
      if header.mapSizeBytes > newest.mapSizeBytes || header.lastPage > newest.lastPage
        || header.mapSizeBytes / header.pageSize <= header.lastPage
      {
        report.add("header \(page): has a map that does not hold its pages, or shrinks")
      }
    }
  }

  /// Every commit frees the page that was the root before it, so the newest free pages are its own.
  private func checkNewest(_ newestFree: UInt64, _ header: FileHeader) {
    guard header.transactionID > 1, !tree.isIncomplete, newestFree != header.transactionID else {
      return
    }
    report.add(
      "header: is of commit \(header.transactionID), its newest free pages of \(newestFree)")
  }

  /// The older header must not describe a newer state than the newest one.
  ///
  /// It is of the commit before if the newest commit has freed its root, which the next one cannot use.
  /// Then its own pages may be gone: where headers are not flushed, a later commit whose header is lost
  /// may have written to them.
  private func checkOlder(_ older: FileHeader, _ newest: FileHeader) throws {
    if isRootSuperseded { return }
    var page = older.free.root
    for depth in stride(from: older.free.depth, to: 0, by: -1) {
      guard page >= 2, page < pagesPresent,
        let bytes = try file.read(at: page * older.pageSize, count: pageSize),
        bytes.load(0, as: UInt64.self) == page
      else { return }
      let node = Int(bytes.load(Int(bytes.load(12, as: UInt16.self)) - 2, as: UInt16.self))
      if depth == 1, bytes.load(node + 8, as: UInt64.self) == newest.transactionID + 1 {
        report.add("header: the older one is of a newer commit")
      }
      page =
        UInt64(bytes.load(node, as: UInt32.self))
        | UInt64(bytes.load(node + 4, as: UInt16.self)) << 32
    }
  }

  // MARK: Pages

  /// Marks the pages as used. Returns false, and reports a problem, if they are not in the file or
  /// already marked.
  private func take(_ first: UInt64, count: UInt64, by name: String) -> Bool {
    guard first >= 2, first <= lastPage, count <= lastPage - first + 1 else {
      report.add("\(name): names page \(first), and the last is \(lastPage)")
      return false
    }
    guard first + count <= pagesPresent else {
      report.add("\(name): page \(first) is behind the end of the file")
      return false
    }
    for page in Int(first)..<Int(first + count) {
      if pageUses[page] != PageUse.unseen.rawValue {
        let isFree = pageUses[page] == PageUse.free.rawValue
        report.add("\(name): page \(page) is \(isFree ? "free, too" : "reached twice")")
        return false
      }
      pageUses[page] = PageUse.used.rawValue
    }
    report.usedPages += Int(count)
    return true
  }

  private func takeFree(_ page: UInt64) {
    guard page >= 2, page <= lastPage else {
      return report.add("the free list: names page \(page), and the last is \(lastPage)")
    }
    let isNew: Bool
    if page < UInt64(pageUses.count) {
      isNew = pageUses[Int(page)] == PageUse.unseen.rawValue
      pageUses[Int(page)] = PageUse.free.rawValue
    } else {
      isNew = freeBehindEnd.insert(page).inserted
    }
    report.freePages += 1
    if !isNew { report.add("the free list: page \(page) is used, or free twice") }
  }

  private func checkEveryPage() {
    // Pages behind a wrong page number are not reached either, so one cause is reported once.
    guard report.problemCount == 0 else { return }
    var lost = 0
    for page in pageUses.indices.dropFirst(2) where pageUses[page] == PageUse.unseen.rawValue {
      lost += 1
      if lost <= 3 { report.add("page \(page): is neither used nor free") }
    }
    if lost > 3 { report.add("\(lost) pages are neither used nor free") }
    if lastPage >= pagesPresent,
      UInt64(freeBehindEnd.count) != lastPage - pagesPresent + 1
    {
      report.add("the file ends before page \(lastPage), its last")
    }
  }

  /// Reads a page into the buffer of its level.
  private func read(_ page: UInt64, level: Int) throws(LMDBError) -> Bool {
    while buffers.count <= level { buffers.append([UInt8](repeating: 0, count: pageSize)) }
    pagesRead += 1
    return try file.read(at: page * UInt64(pageSize), into: &buffers[level], count: pageSize)
  }

  // MARK: Trees

  /// Walks a tree. Returns the largest key of the free list.
  @discardableResult
  private func walk(_ record: FileHeader.Tree, _ kind: Kind, _ name: String) throws -> UInt64 {
    let outer = tree
    defer { tree = kind == .table ? outer : tree }
    tree = Counts(name: name, kind: kind)
    if record.root != FileHeader.noRoot {
      try walk(record.root, depth: record.depth, level: baseLevel, low: nil, high: nil)
    } else if record.depth != 0 {
      report.add("\(name): has no root, and a depth")
    }
    if kind == .table { report.entries[name] = Int(clamping: tree.entries) }
    let found = [tree.branches, tree.leaves, tree.overflow]
    if !tree.isIncomplete, found != record.pages || tree.entries != record.entries {
      report.add(
        """
        \(name): has \(tree.entries) entries in pages \(found), and its record says \
        \(record.entries) in \(record.pages)
        """)
    }
    return tree.newestFree
  }

  /// Tables are walked while the page that names them is still in its buffer.
  private var baseLevel: Int { tree.kind == .table ? 33 : 0 }

  private func walk(
    _ page: UInt64, depth: UInt16, level: Int, low: UnsafeRawBufferPointer?,
    high: UnsafeRawBufferPointer?
  ) throws {
    guard take(page, count: 1, by: tree.name), try read(page, level: level) else {
      tree.isIncomplete = true
      return
    }
    if pagesRead % 256 == 0 {
      try progress(Int(clamping: pagesRead), Int(clamping: min(lastPage, pagesPresent)))
    }
    // Taken out for the calls below, which use only the buffers of other levels.
    var bytes: [UInt8] = []
    swap(&bytes, &buffers[level])
    defer { swap(&bytes, &buffers[level]) }
    try bytes.withUnsafeBytes { bytes in
      let nodes = NodePage(bytes)
      if let fault = nodes.fault(page: page, isLeaf: depth == 1, tiles: &tiles) {
        return giveUp(page, fault)
      }
      guard keysAreInOrder(nodes, isLeaf: depth == 1, low: low, high: high) else {
        return giveUp(page, "its keys are out of order")
      }
      if depth == 1 {
        tree.leaves += 1
        tree.entries += UInt64(nodes.count)
        for index in 0..<nodes.count { try look(at: nodes.node(index), page: page) }
      } else {
        tree.branches += 1
        for index in 0..<nodes.count {
          let child = nodes.node(index)
          try walk(
            child.child, depth: depth - 1, level: level + 1,
            low: index == 0 ? low : child.key,
            high: index + 1 < nodes.count ? nodes.node(index + 1).key : high)
        }
      }
    }
  }

  /// Reports the page. Its entries may still be readable one by one.
  private func giveUp(_ page: UInt64, _ fault: String) {
    tree.isIncomplete = true
    pageUses[Int(page)] = PageUse.unseen.rawValue
    report.add("\(tree.name), page \(page): \(fault)")
  }

  /// Whether the keys ascend strictly, at or above `low` and below `high`. The first key of a
  /// branch is never used.
  private func keysAreInOrder(
    _ nodes: NodePage, isLeaf: Bool, low: UnsafeRawBufferPointer?, high: UnsafeRawBufferPointer?
  ) -> Bool {
    var last: UnsafeRawBufferPointer?
    for index in (isLeaf ? 0 : 1)..<nodes.count {
      let key = nodes.node(index).key
      guard tree.kind == .free ? key.count == 8 : (1...511).contains(key.count) else {
        return false
      }
      if let last {
        guard compare(last, key) < 0 else { return false }
      } else if let low, compare(low, key) > 0 || !isLeaf && compare(low, key) == 0 {
        return false
      }
      last = key
    }
    if let last, let high { return compare(last, high) < 0 }
    return true
  }

  private func compare(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
    if tree.kind == .free {
      let (one, other) = (one.loadUnaligned(as: UInt64.self), other.loadUnaligned(as: UInt64.self))
      return one < other ? -1 : one == other ? 0 : 1
    }
    return compareKeys(one, other)
  }

  // MARK: Entries

  private func look(at node: NodePage.Node, page: UInt64) throws {
    let location = "\(tree.name), page \(page)"
    switch tree.kind {
    case .main where node.flags == NodePage.subtree:
      guard let name = String(validating: node.key, as: UTF8.self),
        let record = FileHeader.Tree(node.data), record.pad == 0, record.flags == 0,
        record.depth <= FileHeader.maximumDepth, (record.depth == 0) == (record.root == .max)
      else { return report.add("\(location): has a table that is not one of ours") }
      try walk(record, .table, name)
    case _ where node.flags == 0: try look(at: node.data, node.key, location)
    case _ where node.flags == NodePage.large:
      guard let value = try largeValue(of: node, location) else {
        tree.isIncomplete = true
        return
      }
      try value.withUnsafeBytes {
        try look(at: UnsafeRawBufferPointer(rebasing: $0[..<node.valueSize]), node.key, location)
      }
    default: report.add("\(location): has an entry of an unknown kind")
    }
  }

  private func look(
    at value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ location: String
  ) throws {
    switch tree.kind {
    case .free: lookAtFree(value, key, location)
    case .main: try visit("", key, value)
    case .table: try visit(tree.name, key, value)
    }
  }

  /// Without `taking`, the pages are not marked as used.
  private func largeValue(
    of node: NodePage.Node, _ location: String, taking: Bool = true
  ) throws -> [UInt8]? {
    let page = node.data.loadUnaligned(as: UInt64.self)
    let needed = UInt64(node.valueSize + NodePage.headerSize - 1) / UInt64(pageSize) + 1
    // Beyond the end of the file there is no value, and no buffer must be allocated for it.
    guard page >= 2, page < pagesPresent, needed <= pagesPresent - page,
      let header = try file.read(at: page * UInt64(pageSize), count: NodePage.headerSize)
    else {
      report.add("\(location): names page \(page) for a large value")
      return nil
    }
    let count = UInt64(header.load(12, as: UInt32.self))
    guard header.load(0, as: UInt64.self) == page, header.load(8, as: UInt16.self) == 0,
      header.load(10, as: UInt16.self) == NodePage.overflowPage, count >= needed
    else {
      report.add("\(location): page \(page) does not hold the large value it names")
      return nil
    }
    if taking {
      guard take(page, count: count, by: location) else { return nil }
      tree.overflow += count
    }
    if large.count < node.valueSize { large = [UInt8](repeating: 0, count: node.valueSize) }
    guard
      try file.read(
        at: page * UInt64(pageSize) + UInt64(NodePage.headerSize), into: &large,
        count: node.valueSize)
    else {
      report.add("\(location): the file ends within a large value")
      return nil
    }
    return large
  }

  /// A count, and as many page numbers, in descending order.
  private func lookAtFree(
    _ value: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer, _ location: String
  ) {
    tree.newestFree = key.loadUnaligned(as: UInt64.self)
    guard value.count >= 8, value.count % 8 == 0,
      value.loadUnaligned(as: UInt64.self) == UInt64(value.count / 8 - 1)
    else { return report.add("\(location): counts other pages than it has") }
    var last = UInt64.max
    for offset in stride(from: 8, to: value.count, by: 8) {
      let page = value.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      guard page < last else { return report.add("\(location): its pages are out of order") }
      last = page
      if tree.newestFree == supersededRoot.transactionID, page == supersededRoot.page {
        isRootSuperseded = true
      }
      takeFree(page)
    }
  }
}

/// LMDB's order of keys: by bytes, the shorter first where one is a prefix of the other.
func compareKeys(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Int {
  if let first = one.baseAddress, let second = other.baseAddress {
    let order = memcmp(first, second, min(one.count, other.count))
    if order != 0 { return Int(order) }
  }
  return one.count - other.count
}

/// A branch or leaf page: offsets from the front, nodes from the back.
///
///     ┌──────── header, 16 ────────────────┬─────────────────┬───── … ─────┬───────┐
///     │ pgno 8 │ pad 2 │ flags 2 │ lower 2 │ offsets, 2 each │ unused      │ nodes │
///     │        │       │         │ upper 2 │                 │             │       │
///     └────────────────────────────────────┴─────────────── lower ─────── upper ───┘
///     node    │ low 2 │ high 2 │ flags 2 │ key size 2 │ key │ data │ padded to an even size
struct NodePage {
  static let headerSize = 16
  static let nodeHeaderSize = 8
  static let branchPage: UInt16 = 0x01
  static let leafPage: UInt16 = 0x02
  static let overflowPage: UInt16 = 0x04
  static let large: UInt16 = 0x01
  static let subtree: UInt16 = 0x02

  /// Can be trusted only as far as `fault` has checked the page.
  struct Node {
    let key: UnsafeRawBufferPointer
    /// In a leaf: the value, or the number of the page that holds it.
    let data: UnsafeRawBufferPointer
    let flags: UInt16
    let valueSize: Int
    let child: UInt64
  }

  private let bytes: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var count: Int { (Int(load(12)) - Self.headerSize) / 2 }

  private func load(_ offset: Int) -> UInt16 {
    bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self)
  }

  private var isLeaf: Bool { load(10) == Self.leafPage }

  /// Where a node's parts are, as its header says.
  private struct Shape {
    let keyStart: Int
    let keyEnd: Int
    let dataEnd: Int
    let header: UInt64

    var flags: UInt16 { UInt16(truncatingIfNeeded: header >> 32) }
  }

  private func offset(_ index: Int) -> Int { Int(load(Self.headerSize + 2 * index)) }

  /// The node's header must be within the page.
  private func shape(at start: Int, isLeaf: Bool) -> Shape {
    let header = UInt64(
      littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self))
    let keyStart = start + Self.nodeHeaderSize
    let keyEnd = keyStart + Int(header >> 48)
    let isLarge = header >> 32 & UInt64(Self.large) != 0
    let dataSize = isLeaf ? (isLarge ? 8 : Int(header & 0xFFFF_FFFF)) : 0
    return Shape(keyStart: keyStart, keyEnd: keyEnd, dataEnd: keyEnd + dataSize, header: header)
  }

  private func node(_ shape: Shape) -> Node {
    Node(
      key: UnsafeRawBufferPointer(rebasing: bytes[shape.keyStart..<shape.keyEnd]),
      data: UnsafeRawBufferPointer(rebasing: bytes[shape.keyEnd..<shape.dataEnd]),
      flags: shape.flags, valueSize: Int(shape.header & 0xFFFF_FFFF),
      child: shape.header & 0xFFFF_FFFF_FFFF)
  }

  func node(_ index: Int) -> Node { node(shape(at: offset(index), isLeaf: isLeaf)) }

  /// The nodes of a leaf whose bounds are within the page. Others are left out.
  func readableNodes() -> [Node] {
    guard bytes.count >= 512, load(10) == Self.leafPage else { return [] }
    let offsets = min(max(0, count), (bytes.count - Self.headerSize) / 2)
    return (0..<offsets).compactMap { readableNode($0) }
  }

  /// Whether the page is of this kind and its offsets are within it.
  func isReadable(isLeaf: Bool) -> Bool {
    load(10) == (isLeaf ? Self.leafPage : Self.branchPage)
      && (Self.headerSize...bytes.count).contains(Int(load(12)))
  }

  /// Nil if the node's bounds are not within the page. Its offset must be.
  @inline(__always)
  func readableNode(_ index: Int) -> Node? {
    readableShape(at: offset(index), Self.headerSize, isLeaf: isLeaf).map(node)
  }

  /// Whether the distances between the nodes prove that each has fewer bytes. No node is read.
  func areSmaller(than size: Int) -> Bool {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: bytes.count / 128 + 1) { starts in
      starts.initialize(repeating: 0)
      for index in 0..<count {
        let start = offset(index)
        guard start % 2 == 0, start < bytes.count else { return false }
        starts[start / 128] |= 1 << UInt64(start / 2 % 64)
      }
      var end = bytes.count
      for word in starts.indices.reversed() {
        while starts[word] != 0 {
          let bit = 63 - starts[word].leadingZeroBitCount
          let start = word * 128 + bit * 2
          if end - start >= size { return false }
          end = start
          starts[word] ^= 1 << UInt64(bit)
        }
      }
      return true
    }
  }

  func prefetch(_ index: Int) {
    guard let start = bytes.baseAddress else { return }
    let node = start + offset(index)
    for line in 0..<6 { hearth_prefetch(node + line * 64) }
  }

  /// Why the page cannot be read; `nil` if every node can be.
  ///
  /// `tiles` must hold zeros, at least half as many as the page has bytes; it does so again
  /// afterwards.
  func fault(page: UInt64, isLeaf: Bool, tiles: inout [UInt16]) -> String? {
    guard bytes.count >= 512, bytes.loadUnaligned(as: UInt64.self) == page else {
      return "it is another page"
    }
    guard load(8) == 0, load(10) == (isLeaf ? Self.leafPage : Self.branchPage) else {
      return "it is no \(isLeaf ? "leaf" : "branch")"
    }
    let (lower, upper) = (Int(load(12)), Int(load(14)))
    guard lower >= Self.headerSize + (isLeaf ? 2 : 4), lower % 2 == 0, lower <= upper,
      upper <= bytes.count
    else { return "its bounds are wrong" }
    var isWhole = true
    var stored = 0
    for index in 0..<count {
      let start = offset(index)
      guard let shape = readableShape(at: start, upper, isLeaf: isLeaf) else {
        isWhole = false
        break
      }
      let size = shape.dataEnd - start
      tiles[start / 2] = UInt16(size + size % 2)
      stored = index + 1
    }
    // The nodes follow each other up to the end of the page.
    var position = upper
    var met = 0
    while isWhole, position < bytes.count {
      let size = Int(tiles[position / 2])
      if size == 0 { isWhole = false }
      position += size
      met += 1
    }
    for index in 0..<stored { tiles[offset(index) / 2] = 0 }
    return isWhole && met == count && position == bytes.count
      ? nil : "its entries overlap, or leave a gap"
  }

  /// Nil if the node's bounds are not between `upper` and the end of the page.
  @inline(__always)
  private func readableShape(at start: Int, _ upper: Int, isLeaf: Bool) -> Shape? {
    guard start >= upper, start % 2 == 0, start + Self.nodeHeaderSize <= bytes.count else {
      return nil
    }
    let shape = shape(at: start, isLeaf: isLeaf)
    // Pages have an even size, and so the byte that pads a node is within them.
    return shape.dataEnd <= bytes.count ? shape : nil
  }
}
