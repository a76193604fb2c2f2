/// Keys on the way to a value, in memory of their own that is used again and again.
struct KeyStack {
  private var keys = UnsafeMutablePointer<any CodingKey>.allocate(capacity: 32)
  private var capacity = 32
  private(set) var count = 0

  @inline(__always)
  mutating func append(_ key: any CodingKey) {
    if count == capacity { grow() }
    (keys + count).initialize(to: key)
    count += 1
  }

  @inline(__always)
  mutating func truncate(to length: Int) {
    while count > length {
      count -= 1
      (keys + count).deinitialize(count: 1)
    }
  }

  /// `index` must be below `count`.
  subscript(index: Int) -> any CodingKey {
    precondition(index >= 0 && index < count, "A key's index is below the count.")
    return keys[index]
  }

  func prefix(_ length: Int) -> [any CodingKey] {
    Array(UnsafeBufferPointer(start: keys, count: max(0, min(length, count))))
  }

  @inline(never)
  private mutating func grow() {
    let grown = UnsafeMutablePointer<any CodingKey>.allocate(capacity: 2 * capacity)
    grown.moveInitialize(from: keys, count: count)
    keys.deallocate()
    keys = grown
    capacity *= 2
  }
}

/// Keyed containers that are used again for values of the same type.
///
/// A keyed container is a box in a class, and making one costs as much as encoding several fields.
/// So the last box for a key type is kept, with the memory (`Slot`) that says where the container
/// stands, and handed out again once nobody else holds it.
struct ContainerCache<Place> {
  final class Slot {
    let place: UnsafeMutablePointer<Place>

    init(_ place: Place) {
      self.place = .allocate(capacity: 1)
      self.place.initialize(to: place)
    }

    deinit {
      place.deinitialize(count: 1)
      place.deallocate()
    }
  }

  private static var entryCount: Int { 64 }

  private let keyTypes = UnsafeMutablePointer<UInt>.allocate(capacity: entryCount)
  private let boxes = UnsafeMutablePointer<AnyObject?>.allocate(capacity: entryCount)
  private let slots = UnsafeMutablePointer<Slot?>.allocate(capacity: entryCount)

  init() {
    keyTypes.initialize(repeating: 0, count: ContainerCache.entryCount)
    boxes.initialize(repeating: nil, count: ContainerCache.entryCount)
    slots.initialize(repeating: nil, count: ContainerCache.entryCount)
  }

  /// Where the container for that key type is, moved to `place`; nil if there is none or it is in use.
  ///
  /// A pointer to read it from: a cast would look up the container's type.
  @inline(__always)
  func container(keyedBy keyType: Any.Type, at place: Place) -> UnsafeRawPointer? {
    let bits = UInt(bitPattern: ObjectIdentifier(keyType))
    let entry = ContainerCache.entry(for: bits)
    guard keyTypes[entry] == bits, isKnownUniquelyReferenced(&boxes[entry]) else { return nil }
    slots[entry]?.place.pointee = place
    return UnsafeRawPointer(boxes + entry)
  }

  /// Keeps a container whose only stored property is its box, as the standard library's are.
  func keep<Container>(_ container: Container, keyedBy keyType: Any.Type, slot: Slot) {
    guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return }
    let bits = UInt(bitPattern: ObjectIdentifier(keyType))
    let entry = ContainerCache.entry(for: bits)
    keyTypes[entry] = bits
    boxes[entry] = unsafeBitCast(container, to: AnyObject.self)
    slots[entry] = slot
  }

  @inline(__always)
  private static func entry(for bits: UInt) -> Int {
    Int((bits >> 4 ^ bits >> 11) % UInt(entryCount))
  }
}
