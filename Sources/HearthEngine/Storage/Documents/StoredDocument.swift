internal import LMDB

/// One version of a document that outlives its transaction: it has a copy of the record's bytes.
package final class StoredDocument: Sendable {
  package let path: ResourcePath
  package let sequence: UInt64
  package let createTime: Instant
  package let updateTime: Instant
  package let body: DocumentBody

  init(
    path: ResourcePath, sequence: UInt64, createTime: Instant, updateTime: Instant,
    body: DocumentBody
  ) {
    self.path = path
    self.sequence = sequence
    self.createTime = createTime
    self.updateTime = updateTime
    self.body = body
  }

  /// Bytes in memory, about.
  package var memoryBytes: Int { body.bytes.count + 256 }

  /// The value of one field; nil if there is none.
  package func value(of field: FieldSegments) throws(Status) -> Value? {
    try body.withView { view throws(Status) in
      var lookup = FieldLookup(field)
      return try lookup.find(in: view)?.value()
    }
  }

  /// With the bytes of another document's body. Throws `dataLoss` unless they are canonical.
  package convenience init(path: ResourcePath, encoded bytes: [UInt8]) throws(Status) {
    self.init(
      path: path, sequence: 0, createTime: Instant(microseconds: 0),
      updateTime: Instant(microseconds: 0),
      body: try DocumentBody(validating: bytes))
  }
}

/// Converts a stored document for users.
extension StoredDocument {
  /// - Parameter reference: Makes the public reference for a path.
  package func dictionary(_ reference: (ResourcePath) -> Any) throws(Status) -> [String: Any] {
    try body.withView { view throws(Status) in
      try AnyBridge.dictionary(view, reference: reference)
    }
  }

  /// One field; nil if the document lacks it.
  package func any(
    at path: FieldSegments, _ reference: (ResourcePath) -> Any
  ) throws(Status) -> Any? {
    try body.withView { view throws(Status) in
      guard let found = try view.value(at: path) else { return nil }
      return try AnyBridge.any(found, reference: reference)
    }
  }

  /// - Parameter owner: The database that references belong to, an object of the public API.
  package func decode<T: Decodable>(
    _ type: T.Type, by decoder: FirebaseDataDecoder, of owner: AnyObject
  ) throws -> T {
    try body.bytes.withUnsafeBytes {
      try decoder.decodeDocument(type, from: StoredBody($0), named: .path(path), of: owner)
    }
  }
}
