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

  convenience init(
    path: ResourcePath, copying record: DocumentRecord, _ body: StoredBody
  ) throws(Status) {
    self.init(
      path: path, sequence: record.sequence, createTime: record.createTime,
      updateTime: record.updateTime, body: try DocumentBody(copying: body))
  }
}
