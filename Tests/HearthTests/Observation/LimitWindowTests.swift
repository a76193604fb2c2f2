import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Semi-joins and relative times of listeners, at other states and times than those of their queries.
@Suite struct LimitWindowTests {
  private static let minute: Int64 = 60_000_000

  private func query(_ collection: String, _ comparison: StructuredQuery.Comparison)
    -> StructuredQuery
  {
    var query = StructuredQuery(.collection(ResourcePath([collection])))
    query.add(.comparison(comparison))
    return query
  }

  @Test(arguments: [ListeningFixture.Kind.store, .memory])
  func `a listener resumes where a semi-join had other values`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    defer { registry.close() }
    try fixture.commit(fixture.set("authors/a", ("country", .string("PL"))))
    let book = try fixture.set("books/b", ("by", .reference(ResourcePath(["authors", "a"]))))
    let token = try fixture.commitTogether([[book]])[0].get().sequence
    try fixture.commit(fixture.set("authors/a", ("country", .string("DE"))))
    let polish = query(
      "authors",
      .init(field: FieldSegments(["country"]), operator: .equal, operand: .string("PL")))
    let books = query(
      "books",
      .init(field: FieldSegments(["by"]), isArray: false, in: SemiJoin(polish, .documentID)))
    let asker = Asker(.query(EffectiveQuery(books)), registry, since: token, eventLimit: 16)
    registry.settle()
    let event = try #require(try asker.take())
    #expect(event.list.count == 0 && !event.isFullResync)
    #expect(event.allChanges.map(\.kind) == [.removed])
    #expect(event.allChanges.map(\.document.path.text) == ["books/b"])
  }

  @Test(arguments: [ListeningFixture.Kind.store, .memory])
  func `a listener with relative times gets the full result when it resumes`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let fixture = try ListeningFixture(kind)
    let due = fixture.clock.now.adding(saturating: 5 * Self.minute)
    let task = try fixture.set("tasks/t", ("due", .timestamp(due)))
    let token = try fixture.commitTogether([[task]])[0].get().sequence
    let tasks = query(
      "tasks", .init(field: FieldSegments(["due"]), isBefore: true, nowPlus: 0))
    var all = StructuredQuery(.collection(ResourcePath(["tasks"])))
    all.add(
      .comparison(.init(field: .documentID, isArray: false, in: SemiJoin(tasks, .documentID))))
    for query in [tasks, all] {
      let target = Listener.Target.query(EffectiveQuery(query))
      let registry = fixture.registry()
      let first = Asker(target, registry)
      registry.settle()
      #expect(try first.take()?.list.count == 0)
      registry.close()
      let now = fixture.clock.now
      fixture.clock.advance(by: 10 * Self.minute)
      let later = fixture.registry()
      defer {
        later.close()
        fixture.clock.now = now
      }
      let asker = Asker(target, later, since: token, eventLimit: 16)
      later.settle()
      let event = try #require(try asker.take())
      #expect(event.isFullResync && event.list.documents.map(\.path.text) == ["tasks/t"])
    }
  }

  @Test(arguments: [ListeningFixture.Kind.store, .memory])
  func `a day ends at midnight, without a write`(_ kind: ListeningFixture.Kind) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    defer { registry.close() }
    let oslo = try #require(TimeZone(identifier: "Europe/Oslo"))
    let today = StructuredQuery.Filter.all([
      .comparison(.init(field: FieldSegments(["at"]), isBefore: false, day: 0, in: oslo)),
      .comparison(.init(field: FieldSegments(["at"]), isBefore: true, day: 1, in: oslo)),
    ])
    var visits = StructuredQuery(.collection(ResourcePath(["visits"])))
    visits.add(today)
    // Midnight in Oslo, in winter: at 23:00 in UTC.
    let midnight = try #require(Instant(seconds: 1_700_002_800, nanoseconds: 0))
    fixture.clock.now = midnight.adding(saturating: -30 * Self.minute)
    for (id, minutes) in [("last", -1441), ("first", -1440), ("late", -1), ("next", 0)] {
      let at = midnight.adding(saturating: Int64(minutes) * Self.minute)
      try fixture.commit(fixture.set("visits/\(id)", ("at", .timestamp(at))))
    }
    let asker = Asker(.query(EffectiveQuery(visits)), registry, eventLimit: 16)
    registry.settle()
    #expect(try asker.take()?.list.documents.map(\.path.text) == ["visits/first", "visits/late"])
    fixture.clock.advance(by: 29 * Self.minute)
    registry.settle()
    #expect(try asker.take() == nil)
    fixture.clock.advance(by: Self.minute)
    registry.settle()
    #expect(try asker.take()?.list.documents.map(\.path.text) == ["visits/next"])
    fixture.clock.advance(by: 1440 * Self.minute)
    registry.settle()
    #expect(try asker.take()?.list.count == 0)
  }

  @Test(arguments: [ListeningFixture.Kind.store, .memory])
  func `a commit is judged at its own time, however long nothing has happened`(
    _ kind: ListeningFixture.Kind
  ) throws {
    let fixture = try ListeningFixture(kind)
    let registry = fixture.registry()
    defer { registry.close() }
    let active = query(
      "sessions", .init(field: FieldSegments(["until"]), isBefore: false, nowPlus: 0))
    let sessions = Asker(.query(EffectiveQuery(active)), registry, eventLimit: 16)
    let count = Asker(
      .totals(EffectiveQuery(active), [Aggregation(.count(upTo: nil))]), registry, eventLimit: 16)
    registry.settle()
    #expect(try sessions.take()?.list.count == 0)
    #expect(try count.take()?.values == [.integer(0)])
    func until(_ minutes: Int64) -> Value {
      .timestamp(fixture.clock.now.adding(saturating: minutes * Self.minute))
    }
    fixture.clock.advance(by: 30 * Self.minute)
    try fixture.commit(fixture.set("sessions/s", ("until", until(-20))))
    registry.settle()
    #expect(try sessions.take() == nil && count.take() == nil)
    try fixture.commit(fixture.set("sessions/s", ("until", until(20))))
    registry.settle()
    #expect(try sessions.take()?.allChanges.map(\.kind) == [.added])
    #expect(try count.take()?.values == [.integer(1)])
    // Past the end of the session, in the commit that comes before the alarm.
    fixture.clock.advance(by: 30 * Self.minute)
    try fixture.commit(fixture.set("sessions/t", ("until", until(20))))
    registry.settle()
    #expect(try sessions.take()?.list.documents.map(\.path.text) == ["sessions/t"])
    #expect(try sessions.take() == nil && count.take() == nil)
  }
}
