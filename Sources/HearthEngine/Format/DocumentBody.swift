/// A document's fields as canonical bytes: identical documents have equal bytes.
package struct DocumentBody: Sendable, Hashable {
  package let bytes: [UInt8]
  /// False only if the writer of these bytes met nothing that Firestore might refuse: then
  /// `checkFields` need not walk over them.
  let needsCheck: Bool
  /// False only if there is no map inside.
  let mayHoldMaps: Bool

  package static let empty = DocumentBody(
    canonical: [DocumentFormat.Tag.map, 0], needsCheck: false, mayHoldMaps: false)

  /// For bytes that came from a `DocumentWriter` or were validated.
  init(canonical bytes: [UInt8], needsCheck: Bool = true, mayHoldMaps: Bool = true) {
    self.bytes = bytes
    self.needsCheck = needsCheck
    self.mayHoldMaps = mayHoldMaps
  }

  /// Throws `dataLoss` unless the bytes are the canonical form of a document.
  init(validating bytes: [UInt8]) throws(Status) {
    try bytes.withUnsafeBufferPointer { buffer throws(Status) in
      try DocumentBody.validate(UnsafeRawBufferPointer(buffer))
    }
    self.init(canonical: bytes)
  }

  /// Throws `invalidArgument` for a map that is too large to be stored.
  package init(encoding map: MapValue) throws(Status) { try self.init(encoding: .map(map)) }

  /// Encodes a map or, for the coder, any other value.
  package init(encoding value: Value) throws(Status) {
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    writer.value(value)
    self = try writer.finish()
  }

  package static func == (lhs: DocumentBody, rhs: DocumentBody) -> Bool { lhs.bytes == rhs.bytes }
  package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

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
