import LMDB
import Synchronization

/// The shapes of one file that this process has met. An id is a hash of the names, so that what was once
/// met under an id is right for ever.
///
/// Reading takes no lock.
///
///     id ─▶ slots (open addressing) ─▶ position ─▶ shapes (only added to)
final class ShapeMemory: Sendable {
  /// How many a file may have. What comes beyond is stored with its names.
  static let limit = 4096
  private static let capacity = 2 * limit
  private static let slotCount = 4 * capacity

  // Room for all, which the system gives where it is touched. What a slot points at does not change.
  nonisolated(unsafe) private let shapes = UnsafeMutablePointer<Shape>.allocate(capacity: capacity)
  nonisolated(unsafe) private let slots = UnsafeMutablePointer<Atomic<UInt32>>.allocate(
    capacity: slotCount)
  /// The bytes that shapes point into.
  private let heads = Guarded<[PinnedBytes]>([])
  /// Hashes of names that were to be stored once, and got no shape for that.
  private let sightings = Guarded<Set<UInt32>>([])
  private static let sightingLimit = 1024

  init() {
    for index in 0..<ShapeMemory.slotCount { (slots + index).initialize(to: Atomic(0)) }
  }

  deinit {
    shapes.deallocate()
    slots.deallocate()
  }

  @inline(__always)
  subscript(id: UInt32) -> UnsafePointer<Shape>? {
    var slot = Int(id)
    while true {
      slot &= ShapeMemory.slotCount - 1
      let position = slots[slot].load(ordering: .acquiring)
      guard position > 0 else { return nil }
      let shape = shapes + Int(position - 1)
      if shape.pointee.id == id { return UnsafePointer(shape) }
      slot += 1
    }
  }

  /// Keeps what the file has under this id.
  func learn(_ id: UInt32, _ head: UnsafeRawBufferPointer) throws(Status) -> UnsafePointer<Shape> {
    let pinned = PinnedBytes(copying: head)
    guard try Shape(parsing: pinned.buffer).id == id else {
      throw .dataLoss("A stored shape is filed under another's id.")
    }
    try heads.withLock { heads throws(Status) in
      if self[id] == nil { try add(pinned, to: &heads) }
    }
    guard let shape = self[id] else { throw .unknownShape }
    return shape
  }

  private func add(_ head: PinnedBytes, to heads: inout [PinnedBytes]) throws(Status) {
    guard heads.count < ShapeMemory.capacity else {
      throw Status(.resourceExhausted, "The file has too many shapes.")
    }
    let shape = try Shape(parsing: head.buffer)
    (shapes + heads.count).initialize(to: shape)
    heads.append(head)
    var slot = Int(shape.id)
    repeat {
      slot &= ShapeMemory.slotCount - 1
      if slots[slot].load(ordering: .relaxed) == 0 { break }
      slot += 1
    } while true
    slots[slot].store(UInt32(heads.count), ordering: .releasing)
  }

  /// Whether these names came before.
  func isMetAgain(_ id: UInt32) -> Bool {
    sightings.withLock { sightings in
      if sightings.count >= ShapeMemory.sightingLimit { sightings = [] }
      return !sightings.insert(id).inserted
    }
  }
}

// MARK: - In the file

/// A shape's record, in `shapes` under its id and once more in `meta`: a damaged page must not take the names
/// of all documents with it.
///
/// On disk: frame, then the head of a map. Changing this changes the file format; see DocumentFormat.md.
enum ShapeRecord {
  static let copyPrefix = Array("shape".utf8)

  static func key(_ id: UInt32) -> [UInt8] { KeyLayout.sequenceKey(UInt64(id)) }

  static func copyKey(_ id: UInt32) -> [UInt8] { copyPrefix + key(id) }

  /// Both records.
  static func steps(
    _ id: UInt32, _ head: [UInt8], _ tables: Tables
  ) -> [(table: Table, key: [UInt8], value: [UInt8])] {
    [(tables.shapes, key(id)), (tables.meta, copyKey(id))].map { table, key in
      var record = RecordFrame.room()
      record += head
      RecordFrame.seal(&record, key: key)
      return (table, key, record)
    }
  }

  static func id(fromKey key: UnsafeRawBufferPointer) throws(Status) -> UInt32 {
    guard let id = UInt32(exactly: try KeyLayout.sequence(fromKey: key)) else {
      throw .dataLoss("A stored shape has no id.")
    }
    return id
  }
}

extension StoreSnapshot {
  /// A body with the names that do not stand in it.
  @inline(__always)
  func body(_ stored: UnsafeRawBufferPointer) throws(Status) -> StoredBody {
    guard let id = StoredBody.shapeID(stored) else { return StoredBody(stored) }
    if let known = store.shapes[id] { return StoredBody(stored, known) }
    return StoredBody(stored, try loadShape(id))
  }

  /// The fields of a stored record, for scans that look at many and take few.
  @inline(__always)
  func fields(ofRecord record: UnsafeRawBufferPointer) throws(Status) -> MapView {
    try MapView(body: body(DocumentRecord.storedBody(of: record)))
  }

  /// Throws `dataLoss` if it is not in the file, or damaged in both its places.
  @inline(never)
  private func loadShape(_ id: UInt32) throws(Status) -> UnsafePointer<Shape> {
    do {
      if canLoadShapes, let shape = try readShape(id) { return shape }
    } catch let error as LMDBError {
      throw Status(reading: error)
    } catch {
      throw (error as? Status) ?? Status(.internal, "Cannot read a shape.", cause: error)
    }
    throw .unknownShape
  }

  private func readShape(_ id: UInt32) throws -> UnsafePointer<Shape>? {
    let places = [(tables.shapes, ShapeRecord.key(id)), (tables.meta, ShapeRecord.copyKey(id))]
    var damage: Status?
    for (table, key) in places {
      do {
        let shape: UnsafePointer<Shape>? = try key.withUnsafeBytes { key in
          try lmdb.get(table, key).map {
            try store.shapes.learn(id, RecordFrame.payload(of: $0, key: key))
          }
        }
        if let shape { return shape }
      } catch let status as Status {
        damage = status
      }
    }
    if let damage { throw damage }
    return nil
  }

  /// For several threads, of which none but the caller's may use the transaction: has all shapes known that
  /// there are.
  func withKnownShapes() throws -> StoreSnapshot {
    var cursor = try lmdb.cursor(tables.shapes)
    while try cursor.next() {
      let id = try ShapeRecord.id(fromKey: cursor.key)
      if store.shapes[id] == nil { _ = try? readShape(id) }
    }
    var known = self
    known.canLoadShapes = false
    return known
  }
}

// MARK: - New ones

/// Finds shapes for bodies that are about to be stored, and makes some. For one write transaction; what it made
/// is in `steps`, to be put together with them.
struct ShapeMaker {
  private let store: StoreSnapshot
  /// By the hash of their names. Nil for those whose documents are stored with their names.
  private var decided: [UInt32: Decision?] = [:]
  private var count: Int?
  private(set) var steps: [(table: Table, key: [UInt8], value: [UInt8])] = []

  private struct Decision {
    var shape: Shape
    /// What it points into.
    var head: PinnedBytes
  }

  init(_ store: StoreSnapshot) { self.store = store }

  /// How a whole body is to be stored.
  mutating func parts(of body: UnsafeRawBufferPointer) throws -> BodyParts {
    try shaped(MapView(body: body)) ?? BodyParts(body)
  }

  private mutating func shaped(_ map: MapView) throws -> BodyParts? {
    guard map.count > 0, map.count <= Shape.fieldLimit else { return nil }
    let id = Shape.id(ends: map.nameEndBytes, names: map.nameBytes)
    let decision: Decision?
    if let known = decided[id] {
      decision = known
    } else {
      guard let found = try decide(id, map) else { return nil }
      decision = found
      decided[id] = .some(decision)
    }
    // A hash may be that of other names.
    guard let decision, map.hasNames(of: decision.shape) else { return nil }
    return BodyParts(map, shape: id)
  }

  /// What is known of names that were not met in this transaction; nil if it is too early to tell.
  private mutating func decide(_ id: UInt32, _ map: MapView) throws -> Decision?? {
    let key = ShapeRecord.key(id)
    let stored = try key.withUnsafeBytes { try store.lmdb.get(store.tables.shapes, $0) }
    if let stored {
      // One that is damaged is not relied on any further.
      return .some(
        try? key.withUnsafeBytes { key in
          let head = PinnedBytes(copying: try RecordFrame.payload(of: stored, key: key))
          return Decision(shape: try Shape(parsing: head.buffer), head: head)
        })
    }
    let head = map.headBytes
    guard head.count <= Shape.byteLimit else { return .some(nil) }
    guard store.store.shapes.isMetAgain(id) else { return nil }
    let count = try self.count ?? store.lmdb.statistics(store.tables.shapes).entries
    guard count < ShapeMemory.limit else { return .some(nil) }
    self.count = count + 1
    steps += ShapeRecord.steps(id, head, store.tables)
    let pinned = head.withUnsafeBytes { PinnedBytes(copying: $0) }
    return Decision(shape: try Shape(parsing: pinned.buffer), head: pinned)
  }
}
