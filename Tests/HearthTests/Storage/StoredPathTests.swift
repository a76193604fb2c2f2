import Foundation
import LMDB
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Records whose checksum is right and whose path is not that of a document, or of a collection: forged,
/// or of a writer with a fault. Reading them throws, and never traps.
@Suite struct StoredPathTests {
  private static let limit = KeyLimit(24)

  /// What every way of reading makes of the store: each ends, or throws `dataLoss`.
  private func readAll(_ store: Store) {
    func read(_ body: (StoreSnapshot) throws -> Void) {
      do {
        try store.read(body)
      } catch let status as Status {
        #expect(status.code == .dataLoss || status.code == .outOfRange, "\(status)")
      } catch {
        Issue.record("\(error)")
      }
    }
    let scopes: [StructuredQuery.Scope] = [
      .collection(ResourcePath(["c"])), .group("c", below: .root), .subtree(below: .root),
      .group("", below: .root),
    ]
    for scope in scopes {
      read { snapshot in
        _ = try snapshot.documents(matching: EffectiveQuery(StructuredQuery(scope)))
      }
      read { snapshot in
        let query = EffectiveQuery(StructuredQuery(scope))
        _ = try snapshot.decoded(matching: query, isParallel: false) { name, _ in
          DocumentName(try name.path, limit: store.keyLimit)
        }
      }
    }
    read { snapshot in
      let catalogue = try CatalogueScan(below: .root, in: snapshot)
      while try catalogue.next() != nil {}
    }
    read { _ = try $0.changePage(after: 0) }
    read { try $0.changes(after: 0, in: .subtree(below: .root)) { _ in true } }
    read { snapshot in
      try snapshot.changes(after: 0) { change in
        _ = DocumentName(change.path, limit: store.keyLimit)
        return true
      }
    }
    read { snapshot in
      let trim = ChangeLogTrim(now: .latest)
      _ = try trim.plan(snapshot, adding: 0)
    }
    read { _ = try $0.expiredDocuments(at: .latest, from: [0], limit: 10) }
    _ = try? store.check()
  }

  private static let longID = String(repeating: "long", count: 10)

  @Test(arguments: ["c", "c/d/e", "x", "/", "a/b/c/d/e"])
  func `a cut key whose record names no document`(text: String) throws {
    let fixture = try StoreFixture { $0.keyLimit = Self.limit }
    try fixture.commit(try fixture.set("c/\(Self.longID)", ("n", .integer(1))))
    let key = fixture.name("c/\(Self.longID)").key.bytes
    let body = try DocumentBody(encoding: MapValue([("n", .integer(1))]))
    let record = body.withBytes { body in
      key.withUnsafeBytes { key in
        DocumentRecord.encode(
          sequence: 1, updateTime: fixture.clock.now, createTime: fixture.clock.now, path: text,
          body: BodyParts(body), key: key)
      }
    }
    try fixture.store.replaceRecord(fixture.store.tables.documents, key) { $0 = record }
    readAll(fixture.store)
  }

  @Test(arguments: ["c/d", "", "/", "a/b/c/d"])
  func `a cut key of the catalogue that names no collection`(text: String) throws {
    let fixture = try StoreFixture { $0.keyLimit = Self.limit }
    let collection = ResourcePath(["c", Self.longID, "e"])
    try fixture.commit(try fixture.set("c/\(Self.longID)/e/1", ("n", .integer(1))))
    let key = Self.limit.catalogueKey(collection)
    #expect(key.isTruncated)
    try fixture.store.replaceRecord(fixture.store.tables.collections, key.bytes) {
      $0 = NumberRecord.encode(
        1, path: ResourcePath(relative: text), key: key.bytes, isTruncated: true)
    }
    readAll(fixture.store)
  }

  @Test(
    arguments: [Change.Kind.created, .updated, .deleted], [["c"], ["c", "d", "e"], ["c", ""]])
  func `a change of what is no document`(kind: Change.Kind, segments: [String]) throws {
    let fixture = try StoreFixture()
    try fixture.commit(try fixture.set("c/1", ("n", .integer(1))))
    var log = ChangeRecord.Builder()
    log.append(
      Change(
        sequence: 1, kind: kind, path: ResourcePath(segments), commitTime: fixture.clock.now,
        startsCommit: true, previousSequence: 0, before: nil))
    let record = try #require(log.finish().first)
    try fixture.store.replaceRecord(
      fixture.store.tables.changes, KeyLayout.sequenceKey(record.first)
    ) { $0 = record.bytes }
    readAll(fixture.store)
    // The writer trims the log when it commits.
    try fixture.reopen { $0.retention.limitBytes = 0 }
    for outcome in fixture.commitTogether([[try fixture.set("c/2", ("n", .integer(1)))]]) {
      if case .failure(let status) = outcome { #expect(status.code == .dataLoss) }
    }
  }

  /// A reference inside a document: what it leads to is asked for by users.
  @Test func `a stored reference to what is no document is refused when it is used`() async throws {
    let folder = TemporaryFolder()
    let db = try Firestore.open(at: folder.path + "/references.hearth")
    let store = try db.database().store
    let name = DocumentName(ResourcePath(["a", "1"]), limit: store.keyLimit)
    try await db.document("a/1").setData(["n": 1])
    let body = try DocumentBody(
      encoding: MapValue([("r", .reference(ResourcePath(["a", "1", "c"])))]))
    try store.replaceRecord(store.tables.documents, name.key.bytes) { record in
      record = body.withBytes { body in
        name.key.bytes.withUnsafeBytes { key in
          DocumentRecord.encode(
            sequence: 1, updateTime: .now(), createTime: .now(), body: BodyParts(body), key: key)
        }
      }
    }
    struct Holder: Decodable { var r: DocumentReference }
    let snapshot = try await db.document("a/1").getDocument()
    let references = [
      snapshot["r"] as? DocumentReference, try? snapshot.data(as: Holder.self).r,
    ]
    for reference in references.compactMap(\.self) {
      await #expect(throws: NSError.self) { try await reference.getDocument() }
      await #expect(throws: NSError.self) { try await reference.setData(["n": 1]) }
    }
    try await db.terminate()
  }
}
