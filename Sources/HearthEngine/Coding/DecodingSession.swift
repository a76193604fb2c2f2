import Foundation

/// One run of a decoder over one stored value, read in place.
///
/// Decoders and containers are small structs that say where in the value they are, by offset, and
/// carry the run's epoch. Sessions are never freed, only used again with another epoch: a decoder
/// that a type kept beyond its time throws instead of reading memory that is no longer ours.
struct DecodingSession {
  typealias StatePointer = UnsafeMutablePointer<State>

  struct State {
    /// Changes when a run ends. 0 is never one.
    var epoch: UInt32 = 1
    var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Of the document, if its names do not stand in its bytes.
    var shape: UnsafePointer<FieldNameTable>?
    /// The caller's, who waits for the run to end. Nil between runs.
    var options: Unmanaged<FirebaseDataDecoder>?
    var keysAreDefault = true
    var datesAreTimestamps = true
    var dataIsBlob = true
    var context = DocumentDecoder.Context()
    /// The keys on the way to what is being decoded, and the node each belongs behind. A node is
    /// named by its index plus one; 0 is the run's value itself.
    var keys = KeyStack()
    var parents = UnsafeMutablePointer<UInt32>.allocate(capacity: 64)
    var parentCapacity = 64
    let containers = ContainerCache<KeyedPosition>()
    /// Under a key strategy, for each keyed container: where each key's field is.
    var converted: [[BytewiseString: Int]] = []
    var guesses = FieldPositionCache()
    let elements = ElementTypes()
    /// Values around this one that are decoded in their own place, by single value containers.
    var valuesInPlace = 0
    /// A dictionary was to be decoded that cannot hold two names of the map: see `DocumentDecoder.ambiguousKey`.
    var isAmbiguous = false
  }

  /// Gives the new node's name.
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

  /// For a key to be appended.
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

  static func decode<T: Decodable>(
    _ type: T.Type, from body: StoredBody?, options: FirebaseDataDecoder,
    context: DocumentDecoder.Context
  ) throws -> T {
    let state = pool.borrow()
    defer { giveBack(state) }
    state.pointee.bytes = body?.bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
    state.pointee.shape = body?.shape
    guard state.pointee.bytes.count <= DocumentFormat.maximumBodyBytes else {
      throw Status.dataLoss("A stored document is too large.")
    }
    state.pointee.options = Unmanaged.passUnretained(options)
    state.pointee.context = context
    state.pointee.keysAreDefault = options.keysAreDefault
    state.pointee.datesAreTimestamps = options.datesAreTimestamps
    state.pointee.dataIsBlob = options.dataIsBlob
    let root = DocumentDecoder(
      state: state, offset: 0, count: UInt32(state.pointee.bytes.count), node: 0,
      epoch: state.pointee.epoch)
    return try root.decodeHere(type)
  }

  // MARK: - Idle sessions

  private static let pool: SessionPool<State> = SessionPool(make: { State() }) { state in
    if let state { pool.share(state) }
  }

  private static func giveBack(_ state: StatePointer) {
    state.pointee.epoch = max(1, state.pointee.epoch &+ 1)
    state.pointee.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    state.pointee.shape = nil
    state.pointee.options = nil
    state.pointee.context = DocumentDecoder.Context()
    state.pointee.keys.truncate(to: 0)
    state.pointee.guesses.runEnded()
    if !state.pointee.converted.isEmpty { state.pointee.converted = [] }
    state.pointee.isAmbiguous = false
    pool.giveBack(state)
  }
}

/// Remembers where the fields of a type stood in the last document, in the order the type asks for
/// them: the next document is most often shaped alike, and a name is then compared once, not searched.
struct FieldPositionCache {
  /// How many fields of a type are remembered.
  static let rowLength = 128
  private static let cursorCount = 256

  /// One for each entry of the containers. Only hints: an entry's type may have been another.
  private let rows = UnsafeMutablePointer<UInt16>.allocate(
    capacity: ContainerCache<KeyedPosition>.entryCount * rowLength)
  /// How many fields a container has asked for so far. Hints too: containers may share one.
  private let cursors = UnsafeMutablePointer<UInt32>.allocate(capacity: cursorCount)
  private var cursorsUsed = 0

  init() {
    rows.initialize(
      repeating: 0, count: ContainerCache<KeyedPosition>.entryCount * FieldPositionCache.rowLength)
    cursors.initialize(repeating: 0, count: FieldPositionCache.cursorCount)
  }

  mutating func runEnded() { cursorsUsed = 0 }

  /// A cursor for a container of that entry.
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

    /// Where the name is in the map.
    @inline(__always)
    func index(of name: UnsafeRawBufferPointer, in map: MapView) throws(Status) -> Int? {
      let place = Int(asked.pointee)
      guard place < FieldPositionCache.rowLength else { return try map.index(of: name) }
      asked.pointee = UInt32(truncatingIfNeeded: place + 1)
      let guess = Int(row[place])
      if try map.hasName(name, at: guess) { return guess }
      guard let index = try map.index(of: name) else { return nil }
      row[place] = UInt16(truncatingIfNeeded: index)
      return index
    }
  }
}
