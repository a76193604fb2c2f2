/// Keyed containers that are used again for values of the same type.
///
/// A keyed container is a box of the standard library's, and making one costs as much as encoding
/// several fields. So the last box for a key type is kept, and handed out again once nobody else
/// holds it. What we put into the box is trivial and only says where the container stands (`Place`):
/// the box is moved by writing into it, and the standard library, which copies it out for every field,
/// retains nothing.
///
/// Boxes are handed out by a `ContainerHolder`. To copy a `KeyedEncodingContainer<Key>` Swift looks up
/// the metadata of that type in a table that all threads share; that was 10 % of the instructions of
/// encoding a book, and what kept threads from decoding side by side. A holder has the metadata at
/// hand: it is its own generic argument.
struct ContainerCache<Place: BitwiseCopyable> {
  static var entryCount: Int { 128 }
  /// Where a Swift object's first property is.
  private static var objectHeaderBytes: Int { 16 }

  private let keyTypes = UnsafeMutablePointer<UInt>.allocate(capacity: entryCount)
  private let holders = UnsafeMutablePointer<(any ContainerHolding)?>.allocate(capacity: entryCount)
  /// The holders' references to their boxes.
  private let boxes = UnsafeMutablePointer<UnsafeMutablePointer<AnyObject>?>
    .allocate(capacity: entryCount)

  init() {
    keyTypes.initialize(repeating: 0, count: ContainerCache.entryCount)
    holders.initialize(repeating: nil, count: ContainerCache.entryCount)
    boxes.initialize(repeating: nil, count: ContainerCache.entryCount)
  }

  /// The number, below `entryCount`, that stands for a key type for now.
  @inline(__always)
  func entry(for keyType: Any.Type) -> Int {
    let bits = UInt(bitPattern: ObjectIdentifier(keyType))
    let home = Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 57)
    return keyTypes[home] == bits ? home : probe(bits, from: home)
  }

  /// One of the next few entries. If they are all taken, the first is taken over.
  @inline(never)
  private func probe(_ bits: UInt, from home: Int) -> Int {
    for step in 0..<8 {
      let entry = (home + step) & (ContainerCache.entryCount - 1)
      if keyTypes[entry] == bits { return entry }
      if keyTypes[entry] == 0 {
        keyTypes[entry] = bits
        return entry
      }
    }
    keyTypes[home] = bits
    boxes[home] = nil
    holders[home] = nil
    return home
  }

  /// The holder of the container for that entry's key type, moved to `place`: points to an
  /// `any ContainerHolding<KeyedEncodingContainer<Key>>`, or to its decoding twin. Nil if there is
  /// none, or if its container is in use.
  @inline(__always)
  func holder(entry: Int, at place: Place) -> UnsafeRawPointer? {
    guard let box = boxes[entry], isKnownUniquelyReferenced(&box.pointee) else { return nil }
    ContainerCache.place(inside: box.pointee).storeBytes(of: place, as: Place.self)
    return UnsafeRawPointer(holders + entry)
  }

  /// Keeps a container that stands at `place`, if it is made as they were when this was written: a
  /// struct around one object, with our struct in the object's first property.
  func keep<Container>(_ container: Container, entry: Int, at place: Place) {
    guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return }
    let holder = ContainerHolder(container)
    let box = UnsafeMutableRawPointer(holder.memory).assumingMemoryBound(to: AnyObject.self)
    // A place begins with a pointer that nothing else of the container's is.
    let first = ContainerCache.place(inside: box.pointee).load(as: UInt.self)
    guard first == withUnsafeBytes(of: place, { $0.load(as: UInt.self) }) else { return }
    boxes[entry] = box
    holders[entry] = holder
  }

  @inline(__always)
  private static func place(inside box: AnyObject) -> UnsafeMutableRawPointer {
    Unmanaged.passUnretained(box).toOpaque() + objectHeaderBytes
  }
}

/// Gives a container without naming its type. See `ContainerCache`.
protocol ContainerHolding<Container>: AnyObject {
  associatedtype Container
  func copy() -> Container
}

private final class ContainerHolder<Container>: ContainerHolding {
  let memory = UnsafeMutablePointer<Container>.allocate(capacity: 1)

  init(_ container: Container) { memory.initialize(to: container) }

  deinit {
    memory.deinitialize(count: 1)
    memory.deallocate()
  }

  func copy() -> Container { memory.pointee }
}
