import Glibc

/// The two meta pages, read with `pread` before anything is mapped, because LMDB trusts them.
///
///     page 0, page 1 (the one with the higher txnid is valid)
///     ┌──────────────── page header, 16 ───────────────┬───────────────────── meta, 136 ─────────┐
///     │ pgno 8 │ pad 2 │ flags 2 │ lower 2 │ upper 2   │ magic 4 │ version 4 │ address 8 │ map 8 │
///     └────────────────────────────────────────────────┤ free db 48 │ main db 48 │ last page 8 │
///                                                      │ txnid 8 │
///                                                      └─────────────────────────────────────────┘
///     db: pad 4 (free db: the page size) │ flags 2 │ depth 2 │ branch, leaf, overflow, entries,
///         root: 8 each
struct FileHeader: Equatable {
  struct Tree: Equatable {
    var pad: UInt32
    var flags: UInt16
    var depth: UInt16
    var pages: [UInt64]
    var entries: UInt64
    var root: UInt64
  }

  var pageSize: UInt64
  var free: Tree
  var main: Tree
  var mapSizeBytes: UInt64
  var lastPage: UInt64
  var transactionID: UInt64
  /// Whether the fields that LMDB leaves zero are zero: padding, bounds, the fixed address.
  let isPlain: Bool

  static let magic: UInt32 = 0xBEEF_C0DE
  static let version: UInt32 = 1
  static let metaPageFlag: UInt16 = 0x08
  static let noRoot = UInt64.max
  /// The size of LMDB's cursor stack.
  static let maximumDepth: UInt16 = 32
  static let byteCount = 16 + 136
  /// The offset of the txnid in a page.
  static let transactionOffset = 144

  // MARK: Validating

  /// Throws `notADatabase`, `truncated`, `damagedHeader` or `versionMismatch`; with `isAlone` also
  /// `damagedPage`. An empty file is a new database.
  ///
  /// Another process may be writing, and a page is not read atomically. So a failed check is
  /// repeated for 60 ms.
  ///
  /// - Parameter isAlone: No process writes, so the roots of the trees are checked, too.
  static func validate(_ file: DataFile, isAlone: Bool) throws(LMDBError) {
    let path = file.path
    var backoff = Backoff(.milliseconds(60))
    while true {
      do throws(LMDBError) {
        let pages = PageReader(using: file.anchor)
        guard let header = try validate(pages), isAlone else { return }
        return try header.validateRoots(pages)
      } catch {
        guard error.code <= LMDBError.closed.code || error == .versionMismatch, backoff.wait()
        else { throw error.adding("open \(path)") }
      }
    }
  }

  /// The newest header; `nil` for an empty file.
  @discardableResult
  static func validate(_ file: borrowing PageReader) throws(LMDBError) -> FileHeader? {
    if try file.byteCount() == 0 { return nil }
    let headers = try both(in: file)
    let newest = newest(of: headers)
    let (first, second) = (headers[0], headers[1])
    let oldest = second.transactionID > first.transactionID ? first : second
    guard oldest.lastPage <= newest.lastPage else { throw .damagedHeader }
    // Read here, not earlier: the file grows before the meta page says so.
    let length = try file.byteCount()
    guard length >= 2 * first.pageSize else { throw .truncated }
    let pagesPresent = length / first.pageSize
    guard newest.lastPage >= pagesPresent else { return newest }
    // Pages allocated and freed within one commit are never written, and may be missing at the end.
    var freeList = FreeList(newest, after: pagesPresent)
    try freeList.walk(newest.free.root, depth: newest.free.depth, file)
    guard UInt64(freeList.found.count) == newest.lastPage - pagesPresent + 1 else {
      throw .truncated
    }
    return newest
  }

  /// The headers of both pages. Throws `damagedHeader` if their page sizes differ.
  static func both(in file: borrowing PageReader) throws(LMDBError) -> [FileHeader] {
    guard let start = try file.read(at: 0, count: byteCount) else {
      throw try file.startsWithMagic() ? .truncated : .notADatabase
    }
    let first = try FileHeader(start, page: 0)
    guard let next = try file.read(at: first.pageSize, count: byteCount) else { throw .truncated }
    let second = try FileHeader(next, page: 1)
    guard first.pageSize == second.pageSize else { throw .damagedHeader }
    return [first, second]
  }

  /// LMDB uses the second only if it is newer.
  static func newest(of headers: [FileHeader]) -> FileHeader {
    headers[1].transactionID > headers[0].transactionID ? headers[1] : headers[0]
  }

  /// Checks the root page of each tree, a dozen in all: the pages LMDB reads to open the tables.
  private func validateRoots(_ file: borrowing PageReader) throws(LMDBError) {
    let pagesPresent = try file.byteCount() / pageSize
    let lastPage = lastPage
    var page = PageBuffer(pageSize)
    try Self.validateRoot(free, of: file, pagesPresent, &page) { (node) throws(LMDBError) in
      guard node.key.count == 8, node.flags & ~NodePage.large == 0 else { throw .damagedPage }
      if node.flags == 0, !Self.isFreeList(node.data, lastPage) { throw .damagedPage }
    }
    var tables: [Tree] = []
    try Self.validateRoot(main, of: file, pagesPresent, &page) { (node) throws(LMDBError) in
      guard node.flags != 0 && node.flags != NodePage.large else { return }
      guard node.flags == NodePage.subtree, let table = Tree(node.data),
        table.depth <= Self.maximumDepth,
        (table.depth == 0) == (table.root == Self.noRoot)
      else { throw .damagedPage }
      tables.append(table)
    }
    for table in tables {
      try Self.validateRoot(table, of: file, pagesPresent, &page) { (_) throws(LMDBError) in }
    }
  }

  /// A buffer for one page at a time, and the scratch space for checking it.
  private struct PageBuffer {
    var bytes: [UInt8]
    var tiles: [UInt16]

    init(_ pageSize: UInt64) {
      bytes = [UInt8](repeating: 0, count: Int(pageSize))
      tiles = [UInt16](repeating: 0, count: Int(pageSize) / 2)
    }
  }

  /// A count, and as many page numbers, in descending order. LMDB may have reserved room for more.
  private static func isFreeList(_ value: UnsafeRawBufferPointer, _ lastPage: UInt64) -> Bool {
    guard value.count >= 8, value.count % 8 == 0,
      value.loadUnaligned(as: UInt64.self) <= UInt64(value.count / 8 - 1)
    else { return false }
    var last = lastPage + 1
    let end = 8 + Int(value.loadUnaligned(as: UInt64.self)) * 8
    for offset in stride(from: 8, to: end, by: 8) {
      let page = value.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      guard page >= 2, page < last else { return false }
      last = page
    }
    return true
  }

  private static func validateRoot(
    _ tree: Tree, of file: borrowing PageReader, _ pagesPresent: UInt64,
    _ buffer: inout PageBuffer,
    _ look: (NodePage.Node) throws(LMDBError) -> Void
  ) throws(LMDBError) {
    guard tree.root != noRoot else { return }
    let size = buffer.bytes.count
    guard tree.root >= 2, tree.root < pagesPresent,
      try file.read(at: tree.root * UInt64(size), into: &buffer.bytes, count: size)
    else { throw .damagedPage }
    let isLeaf = tree.depth == 1
    // The bytes outlive the nodes that borrow them.
    let fault = buffer.bytes.withUnsafeBytes { bytes -> LMDBError? in
      let page = NodePage(bytes)
      guard page.fault(page: tree.root, isLeaf: isLeaf, tiles: &buffer.tiles) == nil else {
        return .damagedPage
      }
      for index in 0..<page.count {
        let node = page.node(index)
        if !isLeaf {
          guard node.child >= 2, node.child < pagesPresent else { return .damagedPage }
          continue
        }
        do throws(LMDBError) { try look(node) } catch { return error }
      }
      return nil
    }
    if let fault { throw fault.adding("page \(tree.root)") }
  }

  init(_ bytes: [UInt8], page: UInt64) throws(LMDBError) {
    guard bytes.count >= Self.byteCount, bytes.load(16, as: UInt32.self) == Self.magic else {
      throw .notADatabase
    }
    guard bytes.load(20, as: UInt32.self) == Self.version else { throw .versionMismatch }
    guard bytes.load(0, as: UInt64.self) == page,
      bytes.load(10, as: UInt16.self) & Self.metaPageFlag != 0
    else { throw .damagedHeader }
    isPlain =
      bytes.load(8, as: UInt16.self) == 0 && bytes.load(10, as: UInt16.self) == Self.metaPageFlag
      && bytes.load(12, as: UInt32.self) == 0 && bytes.load(24, as: UInt64.self) == 0
      && bytes.load(88, as: UInt32.self) == 0
    mapSizeBytes = bytes.load(32, as: UInt64.self)
    free = Tree(bytes, at: 40)
    main = Tree(bytes, at: 88)
    lastPage = bytes.load(136, as: UInt64.self)
    transactionID = bytes.load(Self.transactionOffset, as: UInt64.self)
    pageSize = UInt64(free.pad)
    guard (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else {
      throw .damagedHeader
    }
    // The free list has integer keys (8); 0x4000 means that the path is a file. A fixed address (1)
    // is refused: a file must not choose where it is mapped.
    guard free.flags & ~0x4008 == 0, main.flags == 0 else { throw .damagedHeader }
    guard lastPage >= 1, lastPage < UInt64(Int64.max) / pageSize, transactionID < UInt64(Int64.max)
    else { throw .damagedHeader }
    for tree in [free, main] {
      let isEmpty = tree.root == Self.noRoot
      guard isEmpty == (tree.depth == 0), tree.depth <= Self.maximumDepth,
        isEmpty || tree.root >= 2 && tree.root <= lastPage,
        tree.pages.allSatisfy({ $0 <= lastPage })
      else { throw .damagedHeader }
    }
  }
}

extension FileHeader.Tree {
  static let byteCount = 48

  /// A table's record; `nil` if `bytes` has another size.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.byteCount else { return nil }
    self.init(Array(bytes), at: 0)
  }

  fileprivate init(_ bytes: [UInt8], at offset: Int) {
    pad = bytes.load(offset, as: UInt32.self)
    flags = bytes.load(offset + 4, as: UInt16.self)
    depth = bytes.load(offset + 6, as: UInt16.self)
    pages = [8, 16, 24].map { bytes.load(offset + $0, as: UInt64.self) }
    entries = bytes.load(offset + 32, as: UInt64.self)
    root = bytes.load(offset + 40, as: UInt64.self)
  }
}

extension [UInt8] {
  /// Callers have checked the bounds of their page; an offset out of bounds reads as zeros.
  func load<T: FixedWidthInteger>(_ offset: Int, as type: T.Type) -> T {
    guard offset >= 0, offset <= count - MemoryLayout<T>.size else { return 0 }
    return withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
  }
}

/// Reads a file without mapping it.
struct PageReader: ~Copyable {
  private let descriptor: Int32
  private let isOwned: Bool
  /// For errors; nil if the file is the open one.
  private let path: String?

  init(path: String) throws(LMDBError) {
    isOwned = true
    self.path = path
    descriptor = Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    if descriptor < 0 { throw failure() }
  }

  /// Reads a file that is open, even if another file is at its path.
  init(copying descriptor: Int32) throws(LMDBError) {
    isOwned = true
    path = nil
    self.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    if self.descriptor < 0 { throw failure() }
  }

  /// Like `init(copying:)`, but valid only until the caller closes the descriptor.
  init(using descriptor: Int32) {
    isOwned = false
    path = nil
    self.descriptor = descriptor
  }

  /// The system's error of the last call, which is about this file.
  private func failure() -> LMDBError {
    LMDBError(errno, context: "read \(path ?? "")", path: path)
  }

  deinit {
    if isOwned { _ = Glibc.close(descriptor) }
  }

  func byteCount() throws(LMDBError) -> UInt64 {
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw failure() }
    return UInt64(clamping: info.st_size)
  }

  /// `nil` if the file is too short.
  func read(at offset: UInt64, count: Int) throws(LMDBError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return try read(at: offset, into: &bytes, count: count) ? bytes : nil
  }

  /// Returns false if the file is too short. The buffer must have room for `count` bytes.
  func read(at offset: UInt64, into bytes: inout [UInt8], count: Int) throws(LMDBError) -> Bool {
    precondition(bytes.count >= count, "A page is read into a buffer that is too small.")
    guard let start = off_t(exactly: offset), count <= Int.max - Int(start) else { return false }
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: done), count - done, start + off_t(done))
      }
      if got < 0, errno == EINTR { continue }
      if got < 0 { throw failure() }
      if got == 0 { return false }
      done += got
    }
    return true
  }

  func forgetCached() throws(LMDBError) {
    guard fsync(descriptor) == 0 else { throw failure() }
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED)
  }

  func startsWithMagic() throws(LMDBError) -> Bool {
    try read(at: 0, count: 20).map(Environment.isHeader) ?? false
  }
}
