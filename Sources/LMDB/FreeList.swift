/// The free pages at the end of a file, found by walking LMDB's tree of free pages.
///
///     page    │ pgno 8 │ pad 2 │ flags 2 │ lower 2 │ upper 2 │ node offsets, 2 each │ … nodes │
///     node    │ low 2 │ high 2 │ flags 2 │ key size 2 │ key │ data │
///     branch  low, high, flags: the page below
///     leaf    low, high: data size; data, or its overflow page: count 8, page 8, page 8, …
struct FreeList {
  /// Free pages beyond the end of the file.
  private(set) var found: Set<UInt64> = []

  private let header: FileHeader
  private let pagesPresent: UInt64
  private var visited: UInt64 = 0

  init(_ header: FileHeader, after pagesPresent: UInt64) {
    self.header = header
    self.pagesPresent = pagesPresent
  }

  mutating func walk(
    _ root: UInt64, depth: UInt16, _ file: borrowing PageReader
  ) throws(LMDBError) {
    guard depth > 0 else { return }
    visited += 1
    // More visits than pages: the tree has a cycle.
    guard visited <= pagesPresent else { throw .damagedHeader }
    let page = try read(root, count: header.pageSize, file)
    let flags = page.load(10, as: UInt16.self)
    let nodeCount = (Int(page.load(12, as: UInt16.self)) - 16) / 2
    guard flags & 0x07 == (depth == 1 ? 0x02 : 0x01), nodeCount >= 0 else {
      throw .damagedHeader
    }
    for index in 0..<nodeCount {
      let node = Int(page.load(16 + 2 * index, as: UInt16.self))
      let size =
        UInt64(page.load(node, as: UInt16.self)) | UInt64(page.load(node + 2, as: UInt16.self))
        << 16
      let flags = page.load(node + 4, as: UInt16.self)
      if depth > 1 {
        try walk(size | UInt64(flags) << 32, depth: depth - 1, file)
      } else {
        let start = node + 8 + Int(page.load(node + 6, as: UInt16.self))
        if flags & 0x01 != 0 {
          let overflow = page.load(start, as: UInt64.self)
          add(try read(overflow, count: size + 16, file), from: 16)
        } else {
          add(page, from: start)
        }
      }
    }
  }

  private func read(
    _ page: UInt64, count: UInt64, _ file: borrowing PageReader
  ) throws(LMDBError) -> [UInt8] {
    guard page >= 2, page < pagesPresent, count <= (pagesPresent - page) * header.pageSize,
      let bytes = try file.read(at: page * header.pageSize, count: Int(clamping: count))
    else { throw .truncated }
    return bytes
  }

  private mutating func add(_ bytes: [UInt8], from start: Int) {
    let count = min(bytes.load(start, as: UInt64.self), UInt64(bytes.count / 8))
    for index in 0..<Int(count) {
      let page = bytes.load(start + 8 + 8 * index, as: UInt64.self)
      if page >= pagesPresent && page <= header.lastPage { found.insert(page) }
    }
  }
}
