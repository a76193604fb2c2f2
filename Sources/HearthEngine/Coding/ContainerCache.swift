/// Keyed containers that are reused for values of the same type.
///
/// A keyed container is a box of the standard library, and making one costs as much as encoding
/// several fields. So the last box for a key type is kept, and reused once nothing else holds it.
/// The struct that we put into the box is trivial and only holds the container's position
/// (`Position`): writing into the box moves it, and the standard library, which copies the struct for
/// every field, retains nothing.
///
/// A `ContainerHolder` hands out boxes. To copy a `KeyedEncodingContainer<Key>` Swift looks up the
/// metadata of that type in a table that all threads share; that was 10 % of the instructions of
/// encoding a book, and prevented threads from decoding in parallel. A holder has the metadata at
/// hand as its own generic argument.
struct ContainerCache<Position: BitwiseCopyable> {
  static var entryCount: Int { 128 }
  /// The offset of a Swift object's first property.
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

  /// The index, below `entryCount`, that a key type has until another type replaces it.
  @inline(__always)
  func entry(for keyType: Any.Type) -> Int {
    let bits = UInt(bitPattern: ObjectIdentifier(keyType))
    let home = Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 57)
    return keyTypes[home] == bits ? home : probe(bits, from: home)
  }

  /// Probes the entries from `home` on. If 8 are taken, the new type replaces the first.
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

  /// The holder of the container for that entry's key type, moved to `position`. Points to an
  /// `any ContainerHolding<KeyedEncodingContainer<Key>>`, or to its decoding counterpart. Nil if
  /// there is no container, or if it is in use.
  @inline(__always)
  func holder(entry: Int, at position: Position) -> UnsafeRawPointer? {
    guard let box = boxes[entry], isKnownUniquelyReferenced(&box.pointee) else { return nil }
    ContainerCache.position(inside: box.pointee).storeBytes(of: position, as: Position.self)
    return UnsafeRawPointer(holders + entry)
  }

  /// Keeps a container at `position`, if its memory layout is the expected one: a struct around one
  /// object, with our struct in the object's first property.
  func keep<Container>(_ container: Container, entry: Int, at position: Position) {
    guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size else { return }
    let holder = ContainerHolder(container)
    let box = UnsafeMutableRawPointer(holder.memory).assumingMemoryBound(to: AnyObject.self)
    // A place begins with a pointer that nothing else in the container equals.
    let first = ContainerCache.position(inside: box.pointee).load(as: UInt.self)
    guard first == withUnsafeBytes(of: position, { $0.load(as: UInt.self) }) else { return }
    boxes[entry] = box
    holders[entry] = holder
  }

  @inline(__always)
  private static func position(inside box: AnyObject) -> UnsafeMutableRawPointer {
    Unmanaged.passUnretained(box).toOpaque() + objectHeaderBytes
  }
}

/// Returns a container without naming its type. See `ContainerCache`.
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
