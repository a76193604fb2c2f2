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
    let containers = ContainerCache<KeyedPlace>()
    var guesses = FieldGuesses()
  }

  /// Gives the new node's name.
  @inline(__always)
  static func push(_ key: any CodingKey, after parent: UInt32, on state: StatePointer) -> UInt32 {
    let index = state.pointee.keys.count
    if index == state.pointee.parentCapacity { growParents(of: state) }
    state.pointee.parents[index] = parent
    state.pointee.keys.append(key)
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
    _ type: T.Type, from bytes: UnsafeRawBufferPointer?, options: FirebaseDataDecoder,
    context: DocumentDecoder.Context
  ) throws -> T {
    let state = borrow()
    defer { giveBack(state) }
    state.pointee.bytes = bytes ?? UnsafeRawBufferPointer(start: nil, count: 0)
    guard state.pointee.bytes.count <= DocumentFormat.maximumBodyBytes else {
      throw Status.dataLoss("A stored document is too large.")
    }
    state.pointee.options = Unmanaged.passUnretained(options)
    state.pointee.context = context
    state.pointee.keysAreDefault =
      if case .useDefaultKeys = options.keyDecodingStrategy { true } else { false }
    state.pointee.datesAreTimestamps =
      if case .timestamp = options.dateDecodingStrategy { true } else { false }
    state.pointee.dataIsBlob =
      if case .blob = options.dataDecodingStrategy { true } else { false }
    let root = DocumentDecoder(
      state: state, offset: 0, count: UInt32(state.pointee.bytes.count), node: 0,
      epoch: state.pointee.epoch)
    return try root.decodeHere(type)
  }

  // MARK: - Idle sessions

  private static let idle = Guarded<[UInt]>([])

  private static func borrow() -> StatePointer {
    let address = idle.withLock { $0.popLast() }
    if let address, let state = StatePointer(bitPattern: address) { return state }
    let state = StatePointer.allocate(capacity: 1)
    state.initialize(to: State())
    return state
  }

  private static func giveBack(_ state: StatePointer) {
    state.pointee.epoch = max(1, state.pointee.epoch &+ 1)
    state.pointee.bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    state.pointee.options = nil
    state.pointee.context = DocumentDecoder.Context()
    state.pointee.keys.truncate(to: 0)
    state.pointee.guesses.runEnded()
    idle.withLock { $0.append(UInt(bitPattern: state)) }
  }
}

/// Remembers where the fields of a type stood in the last document, in the order the type asks for
/// them: the next document is most often shaped alike, and a name is then compared once, not searched.
struct FieldGuesses {
  /// How many fields of a type are remembered.
  static let rowLength = 32
  private static let rowCount = 64
  private static let cursorCount = 256

  private let owners = UnsafeMutablePointer<UInt>.allocate(capacity: rowCount)
  private let rows = UnsafeMutablePointer<UInt16>.allocate(capacity: rowCount * rowLength)
  /// How many fields a container has asked for so far. Only hints: containers may share one.
  private let cursors = UnsafeMutablePointer<UInt32>.allocate(capacity: cursorCount)
  private var cursorsUsed = 0

  init() {
    owners.initialize(repeating: 0, count: FieldGuesses.rowCount)
    rows.initialize(repeating: 0, count: FieldGuesses.rowCount * FieldGuesses.rowLength)
    cursors.initialize(repeating: 0, count: FieldGuesses.cursorCount)
  }

  mutating func runEnded() { cursorsUsed = 0 }

  /// A row and a cursor for a container of that key type.
  @inline(__always)
  mutating func open(_ keyType: Any.Type) -> Cursor {
    let owner = UInt(bitPattern: ObjectIdentifier(keyType))
    let row = Int((owner >> 4 ^ owner >> 11) % UInt(FieldGuesses.rowCount))
    if owners[row] != owner {
      owners[row] = owner
      (rows + row * FieldGuesses.rowLength)
        .update(repeating: 0, count: FieldGuesses.rowLength)
    }
    let cursor = cursorsUsed & (FieldGuesses.cursorCount - 1)
    cursorsUsed += 1
    cursors[cursor] = 0
    return Cursor(row: rows + row * FieldGuesses.rowLength, asked: cursors + cursor)
  }

  struct Cursor {
    fileprivate let row: UnsafeMutablePointer<UInt16>
    fileprivate let asked: UnsafeMutablePointer<UInt32>

    /// Where the name is in the map.
    @inline(__always)
    func index(of name: UnsafeRawBufferPointer, in map: MapView) throws(Status) -> Int? {
      let place = Int(asked.pointee)
      guard place < FieldGuesses.rowLength else { return try map.index(of: name) }
      asked.pointee = UInt32(truncatingIfNeeded: place + 1)
      let guess = Int(row[place])
      if try map.hasName(name, at: guess) { return guess }
      guard let index = try map.index(of: name) else { return nil }
      row[place] = UInt16(truncatingIfNeeded: index)
      return index
    }
  }
}
