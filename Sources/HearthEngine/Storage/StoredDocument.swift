internal import LMDB

/// One version of a document that outlives its transaction: it has a copy of the record's bytes.
package final class StoredDocument: Sendable {
  package let path: ResourcePath
  let sequence: UInt64
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

  convenience init(
    path: ResourcePath, copying record: DocumentRecord, _ body: StoredBody
  ) throws(Status) {
    self.init(
      path: path, sequence: record.sequence, createTime: record.createTime,
      updateTime: record.updateTime, body: try DocumentBody(copying: body))
  }
}
