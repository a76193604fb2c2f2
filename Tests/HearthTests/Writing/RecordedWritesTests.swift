import HearthText
import Testing

@testable import Hearth
@testable import HearthEngine

/// `writes.json`: commits that Firestore's emulator did, with what became of them. Over the backend that
/// the tests are run with.
@Suite struct RecordedWritesTests {
  private struct Mismatch: Error, CustomStringConvertible {
    var description: String
  }

  @Test func `every recorded commit does here what it did there`() async throws {
    let cases = try #require(JSON(resource: "vectors/writes.json")["cases"]?.array)
    #expect(cases.count == 775)
    let fixture = try BackendFixture()
    var required = 0
    for (number, item) in cases.enumerated() {
      let id = item["id"]?.string ?? ""
      do {
        try await replay(item, fixture, root: number)
        required += 1
      } catch {
        if item["emulatorOnly"]?.boolean == true { continue }
        Issue.record("\(id) \(item["about"]?.string ?? ""): \(error)")
      }
    }
    #expect(required >= 771)
    if let embedded = fixture.backend as? EmbeddedBackend {
      let report = try embedded.store.check()
      #expect(report.problems == [])
    }
    try await fixture.firestore.terminate()
  }

  private func replay(_ item: JSON, _ fixture: BackendFixture, root number: Int) async throws {
    // Each case starts from an empty database: the documents of the one before are deleted.
    let names = try await fixture.backend.read(
      .results(EffectiveQuery(StructuredQuery(.subtree(below: .root))))
    ).results.map(\.path)
    fixture.clock.advance(by: 60_000_000)
    if !names.isEmpty {
      try await fixture.backend.commit(names.map { Mutation(path: $0, operation: .delete) })
    }
    fixture.clock.advance(by: 60_000_000)
    let documents = item["documents"]?.array ?? []
    let start = fixture.clock.now
    if !documents.isEmpty {
      let writes = try documents.map {
        try ProtoJSON.mutation(.object([.init("update", $0)])) { _ in start }
      }
      try await fixture.backend.commit(writes)
    }
    let before = try await state(of: documents.compactMap { $0["name"]?.string }, fixture)
    fixture.clock.advance(by: 10_000_000)

    let outcome: Writer.Outcome
    do {
      let writes = try (item["writes"]?.array ?? []).map { write in
        try ProtoJSON.mutation(write) { path in before[path.text]??.updateTime ?? start }
      }
      outcome = .success(try await fixture.backend.commit(writes))
    } catch let status as Status {
      outcome = .failure(status)
    }

    switch outcome {
    case .failure(let status):
      guard let code = item["code"]?.string else { throw Mismatch(description: "\(status)") }
      guard item["codeIsEmulatorOnly"]?.boolean == true || Self.codes[code] == status.code else {
        throw Mismatch(description: "refused as \(status), not \(code)")
      }
      for (name, document) in try await state(of: Array(before.keys), fixture) {
        guard document?.sequence == before[name]??.sequence else {
          throw Mismatch(description: "\(name) is not as before")
        }
      }
    case .success(let result):
      if let code = item["code"]?.string { throw Mismatch(description: "not refused as \(code)") }
      try await compare(result, item, before, start, fixture)
    }
  }

  private func state(
    of names: [String], _ fixture: BackendFixture
  ) async throws -> [String: StoredDocument?] {
    var state: [String: StoredDocument?] = [:]
    let paths = names.map { ResourcePath(relative: $0) }
    for (name, document) in zip(
      names, try await fixture.backend.read(.documents(at: paths)).documents)
    {
      state[name] = .some(document)
    }
    return state
  }

  private func compare(
    _ result: CommitResult, _ item: JSON, _ before: [String: StoredDocument?], _ start: Instant,
    _ fixture: BackendFixture
  ) async throws {
    let time = fixture.clock.now
    func read(_ json: JSON) throws -> JSON {
      json.replacing("REQUEST_TIME", with: text(time))
    }
    let writes = item["writes"]?.array ?? []
    for (index, recorded) in (item["writeResults"]?.array ?? []).enumerated() {
      let found = result.results[index]
      let name = writes[index]["update"]?["name"]?.string ?? ""
      let expected: Instant? =
        switch recorded["updateTime"]?.string {
        case "commit": time
        case "unchanged": before[name]??.updateTime
        default: nil
        }
      guard found.updateTime == expected else {
        throw Mismatch(
          description: "write \(index) tells \(found.updateTime as Any), not \(recorded)")
      }
      let values = try (recorded["transformResults"]?.array ?? []).map {
        try ProtoJSON.value(read($0))
      }
      guard values == found.transformResults else {
        throw Mismatch(description: "transforms tell \(found.transformResults), not \(values)")
      }
    }
    for recorded in item["result"]?.array ?? [] {
      let name = recorded["name"]?.string ?? ""
      let found = try await fixture.backend.document(at: ResourcePath(relative: name))
      guard (found != nil) == recorded["exists"]?.boolean else {
        throw Mismatch(description: "\(name) exists: \(found != nil)")
      }
      guard let found else { continue }
      let fields = try ProtoJSON.fields(read(recorded["fields"] ?? .object([])))
      let stored = try found.body.map()
      guard fields == stored else {
        throw Mismatch(description: "\(name) is \(stored), not \(fields)")
      }
      let old = before[name] ?? nil
      let updated = recorded["updateTime"]?.string == "commit" ? time : old?.updateTime
      let created = recorded["createTime"]?.string == "commit" ? time : old?.createTime
      guard found.updateTime == updated, found.createTime == created else {
        throw Mismatch(description: "\(name) has other times than \(recorded)")
      }
    }
  }

  /// The clock stands on whole seconds of the year 2026 here.
  private func text(_ time: Instant) -> String {
    let seconds = time.seconds - 1_767_225_600
    let hours = seconds / 3600 % 24
    let days = seconds / 86_400 + 1
    let digits = [days, hours, seconds / 60 % 60, seconds % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
    return "2026-01-\(digits[0])T\(digits[1]):\(digits[2]):\(digits[3])Z"
  }

  private static let codes: [String: Status.Code] = [
    "INVALID_ARGUMENT": .invalidArgument, "NOT_FOUND": .notFound,
    "ALREADY_EXISTS": .alreadyExists, "FAILED_PRECONDITION": .failedPrecondition,
  ]
}
