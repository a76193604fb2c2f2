/// Bytes that stay in one place as long as this lives.
final class PinnedBytes: @unchecked Sendable {
  // Unchecked: nobody writes to them once they are copied.
  let buffer: UnsafeRawBufferPointer

  init(copying bytes: UnsafeRawBufferPointer) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    copy.copyMemory(from: bytes)
    buffer = UnsafeRawBufferPointer(copy)
  }

  /// A value in stored form, to be compared with stored values.
  convenience init(encoding value: Value) {
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    writer.value(value)
    self.init(writer)
  }

  private convenience init(_ writer: DocumentWriter) {
    let copy = writer.withBytes { bytes in
      let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
      copy.copyMemory(from: bytes)
      return copy
    }
    self.init(adopting: copy)
  }

  private init(adopting bytes: UnsafeMutableRawBufferPointer) {
    buffer = UnsafeRawBufferPointer(bytes)
  }

  deinit { buffer.deallocate() }

  var view: ValueView { ValueView(trusting: buffer) }
}

/// Finds one field in stored documents, quickly where they resemble one another: the place where it
/// was found last is tried first.
struct FieldLookup {
  private struct Step {
    let name: PinnedBytes
    /// `name`'s bytes.
    let utf8: UnsafeRawBufferPointer
    var hint = 0

    init(_ name: String) {
      var name = name
      self.name = name.withUTF8 { PinnedBytes(copying: UnsafeRawBufferPointer($0)) }
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

  /// For a path that is not empty.
  init(_ field: FieldSegments) {
    first = Step(field.names.first ?? "")
    rest = field.names.dropFirst().map(Step.init)
  }

  /// Nil where the path leads through a missing field or through anything but a map.
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
