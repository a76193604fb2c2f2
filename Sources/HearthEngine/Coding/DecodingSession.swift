import Foundation

/// One run of a decoder over one stored value, read in place.
///
/// Decoders and containers are small structs that hold their offset in the value and the run's
/// epoch. Sessions are never freed, only reused with another epoch: a decoder that a type kept
/// after the run throws instead of reading memory that is no longer valid.
struct DecodingSession {
  typealias StatePointer = UnsafeMutablePointer<State>

  struct State: PooledState {
    var isInUse = false
    var isThreads = false
    /// Changes when a run ends. Never 0.
    var epoch: UInt32 = 1
    var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The document's name table, if its names are not in its bytes.
    var nameTable: UnsafePointer<FieldNameTable>?
    /// Owned by the caller, which waits for the run to end. Nil between runs.
    var options: Unmanaged<FirebaseDataDecoder>?
    var keysAreDefault = true
    var datesAreTimestamps = true
    var dataIsBlob = true
    var context = DocumentDecoder.Context()
    /// The keys that lead to the value being decoded, and the parent node of each. A node's name is
    /// its index plus one; 0 is the run's value itself.
    var keys = KeyStack()
    var parents = UnsafeMutablePointer<UInt32>.allocate(capacity: 64)
    var parentCapacity = 64
    let containers = ContainerCache<KeyedPosition>()
    /// With a key strategy: for each keyed container, the field index of each key.
    var converted: [[BytewiseString: Int]] = []
    var positions = FieldPositionCache()
    let types = CodingTypeCache()
    /// Where the fields of types are that are decoded directly.
    let layouts = FieldLayouts()
    let trail = DirectTrail()
    var scratch = ScratchMemory()
    /// The value that is decoded directly: its node, and how many maps and arrays enclose it.
    var directRoot: (node: UInt32, depth: UInt32) = (0, 0)
    /// Nothing more is decoded directly in this run.
    var isRefused = false
    /// How many enclosing values are decoded in the same place, through single value containers.
    var valuesInPlace = 0
    /// A dictionary that is being decoded cannot hold two names of the map: see
    /// `DocumentDecoder.ambiguousKey`.
    var isAmbiguous = false
  }

  /// Returns the new node's name.
  @inline(__always)
  static func push(_ key: some CodingKey, after parent: UInt32, on state: StatePointer) -> UInt32 {
    let name = newNode(after: parent, on: state)
    state.pointee.keys.append(key)
    return name
  }

  @inline(__always)
  static func push(index: Int, after parent: UInt32, on state: StatePointer) -> UInt32 {
    let name = newNode(after: parent, on: state)
    state.pointee.keys.append(index: index)
    return name
  }

  /// Makes a node for a key that the caller appends next.
  @inline(__always)
  private static func newNode(after parent: UInt32, on state: StatePointer) -> UInt32 {
    let index = state.pointee.keys.count
    if index == state.pointee.parentCapacity { growParents(of: state) }
    state.pointee.parents[index] = parent
    return UInt32(truncatingIfNeeded: index + 1)
  }

  @inline(never)
  private static func growParents(of state: StatePointer) {
    let capacity = 2 * state.pointee.parentCapacity
    let grown = UnsafeMutablePointer<UInt32>.allocate(capacity: capacity)
    grown.moveInitialize(from: state.pointee.parents, count: state.pointee.parentCapacity)
    state.pointee.parents.deallocate()
    state.pointee.parents = grown
    state.pointee.parentCapacity = capacity
  }

  // MARK: - Idle sessions

  fileprivate static let pool: SessionPool<State> = SessionPool(make: { State() }) { state in
    if let state { pool.share(state) }
  }

  fileprivate static func giveBack(_ state: StatePointer) {
    state.pointee.epoch = max(1, state.pointee.epoch &+ 1)
    state.pointee.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    state.pointee.nameTable = nil
    state.pointee.options = nil
    state.pointee.context = DocumentDecoder.Context()
    state.pointee.keys.truncate(to: 0)
    state.pointee.positions.runEnded()
    if !state.pointee.converted.isEmpty { state.pointee.converted = [] }
    state.pointee.isAmbiguous = false
    state.pointee.isRefused = false
    pool.giveBack(state)
  }
}

extension FirebaseDataDecoder {
  /// Decodes a stored document, or any other stored value, in place. A nil body is a document that
  /// does not exist: `T?` decodes as nil, and other types throw `DecodingError.valueNotFound` with the
  /// document's path.
  ///
  /// - Parameters:
  ///   - name: Nil if the value is not a document.
  ///   - owner: The database that references belong to, an object of the public API.
  package func decodeDocument<T: Decodable>(
    _ type: T.Type, from body: StoredBody?, named name: StoredName? = nil,
    of owner: AnyObject? = nil
  ) throws -> T {
    let state = DecodingSession.pool.borrow()
    defer { DecodingSession.giveBack(state) }
    state.pointee.bytes = body?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
    state.pointee.nameTable = body?.nameTable
    guard state.pointee.bytes.count <= DocumentFormat.maximumBodyBytes else {
      throw Status.dataLoss("A stored document is too large.")
    }
    state.pointee.options = Unmanaged.passUnretained(self)
    state.pointee.context = DocumentDecoder.Context(document: name, owner: owner)
    state.pointee.keysAreDefault = keysAreDefault
    state.pointee.datesAreTimestamps = datesAreTimestamps
    state.pointee.dataIsBlob = dataIsBlob
    let root = DocumentDecoder(
      state: state, offset: 0, count: UInt32(state.pointee.bytes.count), node: 0,
      epoch: state.pointee.epoch)
    do {
      return try root.decodeHere(type)
    } catch let error as DecodingError {
      guard let path = try name?.path.text else { throw error }
      throw error.adding(
        body == nil
          ? "The document \(path) does not exist."
          : error.field.map { "This is the field \($0) of the document \(path)." }
            ?? "This is the document \(path).")
    }
  }
}

extension DecodingError {
  /// The dotted path to the value that cannot be decoded, or to one that is missing; nil for the whole
  /// document.
  fileprivate var field: String? {
    let path: [any CodingKey] =
      switch self {
      case .typeMismatch(_, let context), .valueNotFound(_, let context),
        .dataCorrupted(let context):
        context.codingPath
      case .keyNotFound(let key, let context): context.codingPath + [key]
      @unknown default: []
      }
    if path.isEmpty { return nil }
    return path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
  }

  /// The same error, with a sentence added to its description.
  fileprivate func adding(_ sentence: String) -> DecodingError {
    func extended(_ context: Context) -> Context {
      Context(
        codingPath: context.codingPath,
        debugDescription: context.debugDescription + " " + sentence,
        underlyingError: context.underlyingError)
    }
    return switch self {
    case .typeMismatch(let type, let context): .typeMismatch(type, extended(context))
    case .valueNotFound(let type, let context): .valueNotFound(type, extended(context))
    case .keyNotFound(let key, let context): .keyNotFound(key, extended(context))
    case .dataCorrupted(let context): .dataCorrupted(extended(context))
    @unknown default: self
    }
  }
}

@_spi(Figures)
extension FirebaseDataDecoder {
  /// For benchmarks: decodes a document's bytes.
  public func decode<T: Decodable>(
    _ type: T.Type, documentBytes: UnsafeRawBufferPointer
  ) throws -> T {
    try decodeDocument(type, from: StoredBody(documentBytes))
  }
}

/// Remembers the positions of a type's fields in the last document, in the order in which the type
/// asks for them. The next document usually has the same fields: a name is then compared once, not
/// searched.
struct FieldPositionCache {
  /// How many fields of a type are remembered.
  static let rowLength = 128
  private static let cursorCount = 256

  /// One row for each `ContainerCache` entry. Only hints: the entry may have belonged to another
  /// type.
  private let rows = UnsafeMutablePointer<UInt16>.allocate(
    capacity: ContainerCache<KeyedPosition>.entryCount * rowLength)
  /// How many fields each container has asked for so far. Also hints: containers may share one.
  private let cursors = UnsafeMutablePointer<UInt32>.allocate(capacity: cursorCount)
  private var cursorsUsed = 0

  init() {
    rows.initialize(
      repeating: 0, count: ContainerCache<KeyedPosition>.entryCount * FieldPositionCache.rowLength)
    cursors.initialize(repeating: 0, count: FieldPositionCache.cursorCount)
  }

  mutating func runEnded() { cursorsUsed = 0 }

  /// A cursor for a new container with that entry.
  @inline(__always)
  mutating func open(_ entry: Int) -> Cursor {
    let cursor = cursorsUsed & (FieldPositionCache.cursorCount - 1)
    cursorsUsed += 1
    cursors[cursor] = 0
    return Cursor(row: rows + entry * FieldPositionCache.rowLength, asked: cursors + cursor)
  }

  struct Cursor {
    fileprivate let row: UnsafeMutablePointer<UInt16>
    fileprivate let asked: UnsafeMutablePointer<UInt32>

    /// The index of the name in the map; nil if the map lacks it.
    @inline(__always)
    func index(of name: UnsafeRawBufferPointer, in map: MapView) throws(Status) -> Int? {
      let column = Int(asked.pointee)
      guard column < FieldPositionCache.rowLength else { return try map.index(of: name) }
      asked.pointee = UInt32(truncatingIfNeeded: column + 1)
      let candidate = Int(row[column])
      if try map.hasName(name, at: candidate) { return candidate }
      guard let index = try map.index(of: name) else { return nil }
      row[column] = UInt16(truncatingIfNeeded: index)
      return index
    }
  }
}
