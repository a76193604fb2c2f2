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

  private struct Entry {
    var keyType: ObjectIdentifier
    var box: AnyObject
    var slot: Slot
  }

  private static var entryCount: Int { 64 }

  private let entries = UnsafeMutablePointer<Entry?>.allocate(capacity: entryCount)

  init() { entries.initialize(repeating: nil, count: ContainerCache.entryCount) }

  /// The container for that key type, moved to `place`; nil if there is none or it is in use.
  @inline(__always)
  func container<Container>(
    _ type: Container.Type, keyedBy keyType: Any.Type, at place: Place
  ) -> Container? {
    let entry = entry(for: keyType)
    guard entry.pointee?.keyType == ObjectIdentifier(keyType),
      MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size
    else { return nil }
    return reuse(type, entry, place)
  }

  @inline(__always)
  private func reuse<Container>(
    _ type: Container.Type, _ entry: UnsafeMutablePointer<Entry?>, _ place: Place
  ) -> Container? {
    guard var found = entry.pointee.take() else { return nil }
    let isIdle = isKnownUniquelyReferenced(&found.box)
    if isIdle { found.slot.place.pointee = place }
    let box = found.box
    entry.pointee = found
    return isIdle ? unsafeBitCast(box, to: Container.self) : nil
  }

  /// Keeps a container whose only stored property is its box, as the standard library's are.
  func keep<Container>(_ container: Container, keyedBy keyType: Any.Type, slot: Slot) {
    guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return }
    entry(for: keyType).pointee = Entry(
      keyType: ObjectIdentifier(keyType), box: unsafeBitCast(container, to: AnyObject.self),
      slot: slot)
  }

  @inline(__always)
  private func entry(for keyType: Any.Type) -> UnsafeMutablePointer<Entry?> {
    let bits = UInt(bitPattern: ObjectIdentifier(keyType))
    return entries + Int((bits >> 4 ^ bits >> 11) % UInt(ContainerCache.entryCount))
  }
}
