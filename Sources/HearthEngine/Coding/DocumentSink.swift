/// How a Firestore type encodes itself with Hearth's encoders:
///
///     if let sink = DocumentSink(encoder, for: self) { return try sink.encode(self) }
///
/// A document stores the value, after a check; a structure holds the object itself.
package enum DocumentSink {
  case stream(EncodingPosition)
  case tree(TreeEncoder)

  /// Nil for any other encoder.
  package init?(_ encoder: any Encoder) {
    if let encoder = encoder as? StreamEncoder {
      self = .stream(encoder.position)
    } else if let encoder = encoder as? TreeEncoder {
      self = .tree(encoder)
    } else {
      return nil
    }
  }

  /// Nil also for a structure, if the value is not of its passthrough types.
  package init?<T: AnyObject>(_ encoder: any Encoder, for value: T) {
    self.init(encoder)
    if isStructure, case .tree(let encoder) = self, !encoder.run.passesThrough(value) { return nil }
  }

  var isStructure: Bool {
    if case .tree(let encoder) = self { encoder.run.target == .structure } else { false }
  }

  private func encode<T: AnyObject>(
    _ object: T, as value: @autoclosure () throws -> Value
  ) throws {
    switch self {
    case .stream(let position):
      let value = try value()
      if try position.beginValue() { position.writer.value(value) }
    case .tree(let encoder) where isStructure: try encoder.set(content: .object(object))
    case .tree(let encoder): try encoder.set(value())
    }
  }

  package func encode(_ timestamp: Timestamp) throws {
    try encode(timestamp, as: .timestamp(timestamp.instant()))
  }

  package func encode(_ point: GeoPoint) throws {
    try encode(point, as: .geoPoint(point.coordinate()))
  }

  package func encode(_ vector: VectorValue) throws {
    try encode(vector, as: .vector(vector.array))
  }

  package func encode<Reference: DocumentReferencing>(_ reference: Reference) throws {
    if !isStructure, let validationError = reference.validationError { throw validationError }
    try encode(reference, as: .reference(reference.resourcePath))
    note(reference.databaseIdentity)
  }

  package func encode(_ sentinel: FieldValue) throws {
    if !isStructure, let validationError = sentinel.validationError { throw validationError }
    switch self {
    case .stream(let position): try position.encode(sentinel.transform)
    case .tree(let encoder):
      try encoder.set(content: isStructure ? .object(sentinel) : .transform(sentinel.transform))
    }
    if let database = sentinel.database { note(database) }
  }

  /// Encodes an instant. For documents only, not for structures.
  package func encode(_ instant: Instant) throws {
    switch self {
    case .stream(let position):
      if try position.beginValue() { position.writer.value(.timestamp(instant)) }
    case .tree(let encoder): try encoder.set(.timestamp(instant))
    }
  }

  /// Omits the field that is being encoded. False if it is not the field of a map.
  package func skip() -> Bool {
    switch self {
    case .stream(let position): return position.skip()
    case .tree(let encoder):
      if encoder.isField { encoder.node.content = .none }
      return encoder.isField
    }
  }

  private func note(_ database: DatabaseIdentity) {
    switch self {
    case .stream(let position): position.note(database: database)
    case .tree(let encoder):
      DatabaseIdentity.note(database, in: &encoder.run.databases)
    }
  }
}
