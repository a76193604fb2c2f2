extension IndexCatalogue {
  /// Throws `invalidArgument` if a document would have more entries in declared indexes, or more
  /// bytes of entries, than Firestore allows. Learned indexes have no such limits.
  ///
  /// Only indexes on array elements are counted: no others can reach the limits.
  func check(_ body: DocumentBody, at path: ResourcePath) throws {
    if limited.isEmpty { return }
    let collectionID = path.parent.id
    let limited = limited.filter {
      UTF8Order.areEqual($0.definition.collectionID, collectionID)
    }
    if limited.isEmpty { return }
    try body.withBytes { bytes in
      let fields = try MapView(body: bytes)
      var entries = 0
      var size = 0
      for index in limited {
        guard let position = index.definition.containsIndex,
          try isLarge(index.definition.components[position].field, of: fields, bytes.count)
        else { continue }
        try EntryExtractor(index).forEachEntry(of: path, fields) { key, _ in
          entries += 1
          size += min(key.count, Limits.indexEntry)
        }
      }
      guard entries <= Limits.indexEntriesPerDocument else {
        throw Status.invalidArgument(
          "Document '\(path.text)' cannot be written because it has \(entries) index entries, more "
            + "than the maximum of \(Limits.indexEntriesPerDocument).")
      }
      guard size <= Limits.indexEntryBytesPerDocument else {
        throw Status.invalidArgument(
          "Document '\(path.text)' cannot be written because its index entries have \(size) bytes, "
            + "more than the maximum of \(Limits.indexEntryBytesPerDocument).")
      }
    }
  }

  /// Whether the array is large enough to be counted.
  private func isLarge(
    _ field: FieldSegments, of fields: MapView, _ bodyBytes: Int
  ) throws(Status) -> Bool {
    guard let array = try fields.value(at: field)?.array() else { return false }
    // A hundredth of either limit, because there may be many such indexes.
    return array.count > Limits.indexEntriesPerDocument / 100
      || array.count * (bodyBytes + Limits.documentName)
        > Limits.indexEntryBytesPerDocument / 100
  }
}
