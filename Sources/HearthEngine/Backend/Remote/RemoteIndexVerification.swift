/// Finds what violates the constraints of a store's indexes in one state. Does not lock the store.
///
/// Law: commits add no violations from the declaration on, so that those of a later state are among those
/// of this one.
struct RemoteIndexVerification: Sendable {
  /// Of the catalogue in this state.
  let generation: UInt64
  /// Of each index that is being verified, by number.
  private(set) var violations: [UInt32: IndexViolations] = [:]

  /// - Parameter read: Reads the state.
  init(_ read: (RemoteRead) throws(Status) -> RemoteAnswer) throws(Status) {
    let answer = try read(RemoteRead(withIndexes: true))
    let catalogue = try RemoteCatalogue(
      generation: answer.record.generation, answer.indexes)
    generation = catalogue.generation
    for index in catalogue.indexes where index.state == .verifying {
      violations[index.number] =
        index.definition.isUnique
        ? try Self.duplicates(in: index, read) : try Self.missingTargets(of: index, read)
    }
  }

  private static func missingTargets(
    of index: StoredIndex, _ read: (RemoteRead) throws(Status) -> RemoteAnswer
  ) throws(Status) -> IndexViolations {
    var check = TargetCheck()
    try forEachPage(of: index, read) { page in
      let references = try page.map { ($0.path, try index.definition.references(of: $0)) }
      try check.add(references) { targets in
        let request = RemoteRead(names: .documents(targets.map { RemoteKey($0) }))
        return Set(try read(request).names.map { try ResourcePath(remote: $0) })
      }
    }
    return check.found
  }

  private static func duplicates(
    in index: StoredIndex, _ read: (RemoteRead) throws(Status) -> RemoteAnswer
  ) throws(Status) -> IndexViolations {
    var seen: [[UInt8]: (first: ResourcePath, isCounted: Bool)] = [:]
    var found = IndexViolations()
    try forEachPage(of: index, read) { page in
      for document in page {
        let path = document.path
        for key in try index.uniqueKeys(of: document) {
          guard let known = seen[key] else {
            seen[key] = (path, false)
            continue
          }
          if known.first == path || known.isCounted { continue }
          seen[key] = (known.first, true)
          found.add(known.first, path)
        }
      }
    }
    return found
  }

  private static func forEachPage(
    of index: StoredIndex, _ read: (RemoteRead) throws(Status) -> RemoteAnswer,
    _ body: ([StoredDocument]) throws -> Void
  ) throws(Status) {
    var position: [UInt8] = []
    while true {
      let (page, isLast) = try index.page(after: position, read)
      try Status.ofReading { try body(page) }
      guard let last = page.last, !isLast else { return }
      position = Array(last.path.text.utf8)
    }
  }
}

extension StoredIndex {
  func uniqueKeys(of document: StoredDocument) throws(Status) -> [[UInt8]] {
    try Status.ofReading {
      try document.body.withBytes {
        try EntryExtractor(self).uniqueKeys(of: document.path, MapView(body: $0))
      }
    }
  }
}
