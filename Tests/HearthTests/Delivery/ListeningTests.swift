import Dispatch
import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// What very many listeners take; figures for eyes, with HEARTH_SOAK.
@Suite(.serialized, .timeLimit(patience)) struct ListeningTests {
  private let folder = TemporaryFolder()
  private static let count =
    ProcessInfo.processInfo.environment["HEARTH_SOAK"] == nil ? 5_000 : 100_000

  enum Place: CaseIterable { case database, given, own }

  @Test(.embedded("It is about the cost of the registry."), arguments: Place.allCases)
  func `very many listeners on one document take little memory and are all told`(
    place: Place
  ) async throws {
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    let db = try Firestore.open(at: "\(folder.path)/\(place).hearth", settings: settings)
    let document = db.document("a/hot")
    try await document.setData(["n": 0])
    let told = Told()
    let given = DispatchQueue(label: "given")
    let own = SnapshotListenOptions().withOwnQueue(true)
    var registrations: [any ListenerRegistration] = []
    registrations.reserveCapacity(Self.count)
    let before = residentBytes()
    for _ in 0..<Self.count {
      let listener = { @Sendable (_: DocumentSnapshot?, _: (any Error)?) in told.count() }
      let registration =
        switch place {
        case .database: document.addSnapshotListener(listener)
        case .given: document.addSnapshotListener(on: given, listener)
        case .own: document.addSnapshotListener(options: own, listener: listener)
        }
      registrations.append(registration)
    }
    await told.wait(for: Self.count)
    let bytes = (residentBytes() - before) / Self.count
    var best = Double.infinity
    let clock = ContinuousClock()
    for round in 1...7 {
      let began = clock.now
      try await document.setData(["n": round])
      await told.wait(for: (round + 1) * Self.count)
      best = min(best, (clock.now - began) / .nanoseconds(1) / Double(Self.count))
    }
    print("\(Self.count) listeners, \(place): \(bytes) bytes each, \(Int(best)) ns a delivery")
    // A sanitizer's own notes aside.
    if !hasSanitizer { #expect(bytes < 4096) }
    for registration in registrations { registration.remove() }
    try await db.terminate()
  }

  /// Without what earlier tests have freed.
  private func residentBytes() -> Int {
    typealias Trim = @convention(c) (Int) -> Int32
    if let trim = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
    let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(
      separator: " ")
    return (fields.flatMap { Int($0[1]) } ?? 0) * 4096
  }

  /// Counts callbacks of several threads, and wakes the task that waits for a number of them.
  private final class Told: Sendable {
    private let state = Guarded<(count: Int, waiting: (Int, CheckedContinuation<Void, Never>)?)>(
      (0, nil))

    func count() {
      let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
        state.count += 1
        guard let (number, waiting) = state.waiting, state.count >= number else { return nil }
        state.waiting = nil
        return waiting
      }
      waiting?.resume()
    }

    func wait(for number: Int) async {
      await withCheckedContinuation { continuation in
        let isThere = state.withLock { state in
          if state.count < number { state.waiting = (number, continuation) }
          return state.count >= number
        }
        if isThere { continuation.resume() }
      }
    }
  }
}
