@testable import Hearth
@testable import HearthEngine

/// The records that StorageLayout.md shows, as the engine writes them.
enum LayoutRecords {
  static var examples: [(String, [UInt8])] {
    let books = ResourcePath(["books"])
    let catalogueKey = KeyLimit.standard.catalogueKey(books)
    let dune = books.appending("dune")
    let duneKey = KeyLimit.standard.documentKey(dune)
    var log = ChangeRecord.Builder()
    let time = Instant(microseconds: 1_600_000_000_000_000)
    log.append(
      Change(
        sequence: 258, kind: .created, path: dune, commitTime: time, startsCommit: true,
        previousSequence: 0, before: nil))
    log.append(
      Change(
        sequence: 259, kind: .created, path: books.appending("emma"), commitTime: time,
        startsCommit: false, previousSequence: 0, before: nil))
    let before: [UInt8] = [0xAA, 0xBB]
    before.withUnsafeBytes { before in
      log.append(
        Change(
          sequence: 260, kind: .deleted, path: dune,
          commitTime: Instant(microseconds: time.microseconds + 1000), startsCommit: true,
          previousSequence: 258, before: before))
    }
    let state = StoreState(
      lastSequence: 260, lastCommitTime: time, firstLoggedSequence: 258, indexedSequence: 258)
    var rules = TTLPolicies()
    rules["sessions"] = TTLPolicies.Rule(
      collectionID: "sessions", field: FieldSegments(["until"]))
    let list = ChangeLogIndex.list([258, 261, 300], of: ChangeLogIndex.prefix(books, .standard))
    let session = KeyLimit.standard.documentKey(ResourcePath(relative: "sessions/7")).bytes
    let due = ExpirationTable.prefix(Instant(microseconds: 1), session) + [0]
    func nameTable(_ fields: MapValue) -> (UInt32, [UInt8])? {
      try? DocumentBody(encoding: fields).withBytes { bytes in
        let map = try MapView(body: bytes)
        var inner = InnerNames()
        _ = try inner.collect(from: map)
        let head = FieldNameTable.head(map.names, inner: inner.lists)
        return (FieldNameTable.id(map.names, inner: inner.lists), head)
      }
    }
    let ofBooks = nameTable(MapValue([("title", .null), ("pages", .null)]))
    let size = MapValue([("height", .null), ("width", .null)])
    let ofShelves = nameTable(MapValue([("size", .map(size))]))
    return [
      ("pages and title", ofBooks.map { FieldNameTableRecord.key($0.0) } ?? []),
      (
        "of pages and title",
        ofBooks.map { id, head in
          RecordFrame.record(under: FieldNameTableRecord.key(id)) { $0 += head }
        } ?? []
      ),
      (
        "of size with height and width",
        ofShelves.map { id, head in
          RecordFrame.record(under: FieldNameTableRecord.key(id)) { $0 += head }
        } ?? []
      ),
      ("sessions/7 at 1 µs", due),
      ("of sessions/7", RecordFrame.record(under: due) { $0 += session }),
      ("sessions expire by until", rules.encoded()),
      (
        "books holds 2 documents",
        NumberRecord.encode(2, path: books, key: catalogueKey.bytes, isTruncated: false)
      ),
      (
        "260 deleted books/dune",
        NumberRecord.encode(260, path: dune, key: duneKey.bytes, isTruncated: false)
      ),
      ("changes 258 to 260", log.finish().first?.bytes ?? []),
      ("state", state.encoded()),
      ("books in 258, 261 and 300", list.key), ("records 258, 261 and 300", list.value ?? []),
    ] + indexes
  }

  private static var indexes: [(String, [UInt8])] {
    func value(_ identities: KeyIdentity...) -> [UInt8] {
      var all = EntryIdentities()
      for (component, identity) in identities.enumerated() { all[component] = identity }
      var buffer = KeyBuffer()
      all.append(to: &buffer)
      return buffer.bytes
    }
    let author = IndexDefinition(
      "books", [.init("author", .ascending), .init("year", .descending)])
    let tags = IndexDefinition("books", scope: .group, [.init("tags", .contains)])
    let building = IndexState.building(
      documents: 2, upTo: KeyLimit.standard.documentKey(ResourcePath(["books", "dune"])).bytes)
    return [
      ("of 5.0", value(.double)),
      ("of 5 and -0.0", value(.exact, .negativeZero)),
      ("of [5.0]", value(.unknown)),
      (
        "author ↓, year ↑, ready",
        StoredIndex(number: 3, definition: author.stored, state: .ready, origin: .declared)
          .encoded()
      ),
      (
        "all tags ∋, building",
        StoredIndex(number: 4, definition: tags, state: building, origin: .learned).encoded()
      ),
      (
        "unique author ↓, year ↑, invalid",
        StoredIndex(
          number: 5,
          definition: IndexDefinition(
            "books", author.stored.components, isNameDescending: false, constraint: .unique),
          state: .invalid(
            IndexViolations(
              count: 3,
              examples: [
                .init(
                  first: ResourcePath(["books", "dune"]), second: ResourcePath(["books", "emma"]))
              ])), origin: .declared
        ).encoded()
      ),
      (
        "author → people, cascade",
        StoredIndex(
          number: 6,
          definition: IndexDefinition(
            "books", scope: .group, [.init("author", .ascending)],
            constraint: .reference(ReferenceRule(.cascade, target: "people"))), state: .ready,
          origin: .declared
        ).encoded()
      ),
      (
        "author → people, nullify, must exist",
        StoredIndex(
          number: 6,
          definition: IndexDefinition(
            "books", scope: .group, [.init("author", .ascending)],
            constraint: .reference(ReferenceRule(.nullify, target: "people", mustExist: true))),
          state: .ready, origin: .declared
        ).encoded()
      ),
      (
        "1 h and 64 MiB",
        ChangeLogRetention(age: .seconds(3600), limitBytes: 64 << 20).encoded()
      ),
      (
        "generation 7",
        NumberRecord.encode(7, path: .root, key: IndexCatalogue.generationKey, isTruncated: false)
      ),
    ]
  }
}
