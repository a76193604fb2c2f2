import Foundation
import Logging
import TestSupport

@testable import Hearth
@testable import HearthEngine

/// An open store and its writer in a folder of their own, and the clock they look at.
final class StoreFixture: @unchecked Sendable {
  // Unchecked: `store` and `writer` change in `reopen` only, which tests call alone.
  let clock = TestClock()
  private let folder = TemporaryFolder()
  private let configuration: StoreConfiguration
  private let queueLimitBytes: Int
  private(set) var store: Store
  private(set) var writer: Writer

  init(
    queueLimitBytes: Int = 64 << 20, _ configure: (inout StoreConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = StoreConfiguration()
    configuration.durability = .unsafeWithoutFlushing
    configuration.mapSizeBytes = 1 << 30
    configuration.now = { [clock] in clock.now }
    configure(&configuration)
    self.configuration = configuration
    self.queueLimitBytes = queueLimitBytes
    store = try Store(path: folder.path + "/store.hearth", configuration: configuration)
    writer = Writer(store, queueLimitBytes: queueLimitBytes, logger: .silent)
  }

  deinit { close() }

  func close() {
    writer.close()
    store.close()
  }

  /// Closes, and opens the same file again.
  func reopen(_ configure: (inout StoreConfiguration) -> Void = { _ in }) throws {
    close()
    var configuration = configuration
    configure(&configuration)
    store = try Store(path: folder.path + "/store.hearth", configuration: configuration)
    writer = Writer(store, queueLimitBytes: queueLimitBytes, logger: .silent)
  }

  func path(_ text: String) -> ResourcePath { ResourcePath(relative: text) }
  func name(_ text: String) -> DocumentName { name(ResourcePath(relative: text)) }
  func name(_ path: ResourcePath) -> DocumentName { DocumentName(path, limit: store.keyLimit) }

  func set(_ text: String, _ fields: (String, Value)...) throws -> Mutation {
    Mutation(path: name(text).path, operation: .set(try DocumentBody(encoding: MapValue(fields))))
  }

  /// As if there had never been another rule, nor documents.
  func setTTL(_ collectionID: String, _ field: String) throws {
    var rules = TTLPolicies()
    rules[collectionID] = TTLPolicies.Rule(
      collectionID: collectionID, field: FieldSegments([field]))
    var transaction = try store.environment.beginWrite()
    try transaction.put(store.tables.meta, TTLPolicies.key, rules.encoded())
    try transaction.commit()
  }

  func delete(_ text: String) -> Mutation { Mutation(path: name(text).path, operation: .delete) }

  func document(_ text: String) throws -> StoredDocument? {
    try store.read { try $0.document(name(text)) }
  }

  /// Commits several requests in one group: the writer's thread is held until all wait for it.
  func commitTogether(_ requests: [[Mutation]]) -> [Writer.Outcome] {
    let (isHeld, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    writer.submit([]) { _ in
      isHeld.signal()
      gate.wait()
    }
    // Else it may take the first one into its group.
    isHeld.wait()
    let done = DispatchGroup()
    let outcomes = Guarded<[Int: Writer.Outcome]>([:])
    for (index, mutations) in requests.enumerated() {
      done.enter()
      writer.submit(mutations) { outcome in
        outcomes.withLock { $0[index] = outcome }
        done.leave()
      }
    }
    gate.signal()
    done.wait()
    return outcomes.withLock { outcomes in requests.indices.compactMap { outcomes[$0] } }
  }
}

/// A wall clock that stands still until it is moved.
final class TestClock: Sendable {
  private let microseconds = Guarded<Int64>(1_767_225_600_000_000)  // 2026-01-01T00:00:00Z

  var now: Instant {
    get { Instant(microseconds: microseconds.withLock { $0 }) }
    set { microseconds.withLock { $0 = newValue.microseconds } }
  }

  func advance(by microseconds: Int64) {
    self.microseconds.withLock { $0 += microseconds }
  }
}

extension Logger {
  static let silent = Logger(label: "silent") { _ in SwiftLogNoOpLogHandler() }
}
