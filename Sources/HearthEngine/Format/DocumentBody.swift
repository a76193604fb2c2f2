/// A document's fields as canonical bytes: identical documents have equal bytes.
package struct DocumentBody: Sendable, Hashable {
  package let bytes: [UInt8]

  static let empty = DocumentBody(canonical: [DocumentFormat.Tag.map, 0])

  /// For bytes that came from a `DocumentWriter` or were validated.
  init(canonical bytes: [UInt8]) { self.bytes = bytes }

  /// Refuses whatever is not the one form of a document.
  init(validating bytes: [UInt8]) throws(Status) {
    try bytes.withUnsafeBufferPointer { buffer throws(Status) in
      try DocumentBody.validate(UnsafeRawBufferPointer(buffer))
    }
    self.bytes = bytes
  }

  /// Throws `invalidArgument` for a map that is too large to be stored.
  package init(encoding map: MapValue) throws(Status) { try self.init(encoding: .map(map)) }

  /// A map, or for the coder any other value.
  package init(encoding value: Value) throws(Status) {
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    writer.value(value)
    self = try writer.finish()
  }

  /// For bytes out of a stored record, trusted as far as the record was.
  init(copying bytes: UnsafeRawBufferPointer) { self.bytes = Array(bytes) }

  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
      try body(UnsafeRawBufferPointer(buffer))
    }
  }

  package func withView<Result>(
    _ body: (MapView) throws(Status) -> Result
  ) throws(Status) -> Result {
    try withBytes { bytes throws(Status) in try body(try MapView(body: bytes)) }
  }

  package func map() throws(Status) -> MapValue {
    try withView { view throws(Status) in try view.value() }
  }
}
