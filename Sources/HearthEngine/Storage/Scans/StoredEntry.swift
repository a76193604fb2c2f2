internal import LMDB

/// The stored key and record of a document. Borrowed, valid until the transaction ends or writes.
struct StoredEntry {
  var key: UnsafeRawBufferPointer
  var record: UnsafeRawBufferPointer
}

/// A document found by a scan. Borrowed, valid until the transaction ends or writes.
struct ScannedDocument {
  var path: ResourcePath
  var key: UnsafeRawBufferPointer
  var record: UnsafeRawBufferPointer
}
