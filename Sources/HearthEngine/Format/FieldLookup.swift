/// Bytes that keep their address as long as this object lives.
final class PinnedBytes: @unchecked Sendable {
  // Unchecked: the bytes are never written after they are copied.
  let buffer: UnsafeRawBufferPointer

  init(copying bytes: UnsafeRawBufferPointer) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    copy.copyMemory(from: bytes)
    buffer = UnsafeRawBufferPointer(copy)
  }

  /// A value in stored form, for comparison with stored values.
  convenience init(encoding value: Value) {
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    writer.value(value)
    self.init(copying: writer.withBytes { $0 })
  }

  deinit { buffer.deallocate() }

  var view: ValueView { ValueView(trusting: buffer, in: nil) }
}

/// Finds one field in stored documents. Fast if they are alike: tries the field's last position
/// first.
struct FieldLookup {
  private struct Step {
    let name: PinnedBytes
    /// The bytes of `name`.
    let utf8: UnsafeRawBufferPointer
    var hint = 0

    init(_ name: String) {
      self.name = name.withUTF8Bytes { PinnedBytes(copying: $0) }
      utf8 = self.name.buffer
    }

    @inline(__always)
    mutating func find(in map: MapView) throws(Status) -> ValueView? {
      if try map.hasName(utf8, at: hint) { return try map.value(at: hint) }
      guard let index = try map.index(of: utf8) else { return nil }
      hint = index
      return try map.value(at: index)
    }
  }

  private var first: Step
  private var rest: [Step]

  /// `field` must not be empty.
  init(_ field: FieldSegments) {
    first = Step(field.names.first ?? "")
    rest = field.names.dropFirst().map(Step.init)
  }

  /// Nil if the path leads through a missing field, or through a value that is not a map.
  @inline(__always)
  mutating func find(in body: MapView) throws(Status) -> ValueView? {
    guard let found = try first.find(in: body) else { return nil }
    return rest.isEmpty ? found : try findRest(in: found)
  }

  private mutating func findRest(in value: ValueView) throws(Status) -> ValueView? {
    var found = value
    for index in rest.indices {
      guard let map = try found.map(), let next = try rest[index].find(in: map) else { return nil }
      found = next
    }
    return found
  }
}
