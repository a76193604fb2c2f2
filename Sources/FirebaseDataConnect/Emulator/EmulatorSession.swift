import Foundation
import Hearth
import Synchronization

/// A connection to an emulator: executes its requests, up to `maximumRequests` at the same time, and
/// sends the signals of its subscriptions.
///
/// A line that is no request ends the connection, after a line with the error.
final class EmulatorSession: Sendable {
  private static let maximumRequests = 32
  private static let maximumSubscriptions = 1000
  /// Of a message. The id of a document has at most 1,500 bytes.
  private static let maximumRows = 1000

  private struct Subscription {
    let call: EmulatorRequest.Call
    /// Nil as long as it is not ready.
    var refresher: Refresher?
    /// Of the connectors that it was made for.
    var generation: Int
  }

  private struct State {
    var subscriptions: [Int64: Subscription] = [:]
    var generation = 0
    var watchesRows = false
    var isEnded = false
  }

  private let lines: LineConnection
  /// Has the session until it ends.
  private let server: EmulatorServer
  private let state = Mutex(State())
  /// Those that may be begun. Only the reading thread waits for one.
  private let slots = DispatchSemaphore(value: maximumRequests)

  init(_ lines: LineConnection, _ server: EmulatorServer) {
    self.lines = lines
    self.server = server
  }

  func start(onEnd: @escaping @Sendable () -> Void) {
    lines.send(EmulatorMessage.greeting.line)
    lines.start { [self] line in
      take(line)
    } onEnd: { [self] in
      // The other side may still read answers.
      for _ in 0..<Self.maximumRequests { slots.wait() }
      for _ in 0..<Self.maximumRequests { slots.signal() }
      cancelAll()
      onEnd()
    }
  }

  func end() { lines.end() }

  private func cancelAll() {
    let subscriptions = state.withLock { state in
      state.isEnded = true
      defer { state.subscriptions = [:] }
      return Array(state.subscriptions.values)
    }
    for subscription in subscriptions { subscription.refresher?.cancel() }
  }

  // MARK: Requests

  private func take(_ line: [UInt8]?) -> LineConnection.Next {
    let request: EmulatorRequest
    do {
      guard let line else {
        let limit = LineConnection.maximumLineBytes
        throw EmulatorRequest.SyntaxError(description: "A line has more than \(limit) bytes.")
      }
      request = try EmulatorRequest(line: line)
    } catch {
      lines.send(EmulatorMessage.error("\(error)").line)
      return .finishes
    }
    slots.wait()
    if let answer = begin(request) {
      send(request.id, answer)
      slots.signal()
    } else {
      Task {
        send(request.id, await execute(request))
        slots.signal()
      }
    }
    return .reads
  }

  private typealias Answer = Result<OperationResponse, any Error>

  private static let done = Answer.success(OperationResponse(fields: [:]))

  private func send(_ id: Int64, _ answer: Answer) {
    let line = EmulatorMessage.answer(id, answer).line
    guard line.utf8.count > LineConnection.maximumLineBytes else { return lines.send(line) }
    let error = DataConnectOperationError(
      "The result has more than \(LineConnection.maximumLineBytes) bytes, and an emulator sends no "
        + "more.")
    lines.send(EmulatorMessage.answer(id, .failure(error)).line)
  }

  /// The part of a request that is in the order of the lines. Nil: the rest follows.
  private func begin(_ request: EmulatorRequest) -> Answer? {
    switch request.action {
    case .query, .mutation: return nil
    case .watchRows:
      let isFirst = state.withLock { state in
        defer { state.watchesRows = true }
        return !state.watchesRows
      }
      if isFirst { SubscriptionHub.shared(for: server.firestore).caches.add(self) }
      return Self.done
    case .unsubscribe(let id):
      state.withLock { $0.subscriptions.removeValue(forKey: id) }?.refresher?.cancel()
      return Self.done
    case .subscribe(let call):
      let problem: String? = state.withLock { state in
        if state.subscriptions[request.id] != nil { return "The id is that of a subscription." }
        guard state.subscriptions.count < Self.maximumSubscriptions else {
          return "A connection has at most \(Self.maximumSubscriptions) subscriptions."
        }
        state.subscriptions[request.id] = Subscription(
          call: call, refresher: nil, generation: state.generation)
        return nil
      }
      return problem.map { .failure(DataConnectOperationError($0)) }
    }
  }

  private func execute(_ request: EmulatorRequest) async -> Answer {
    do {
      switch request.action {
      case .query(let call, let marksRows):
        return .success(
          try await server.service(call).query(
            call.operation, call.variables, call.auth, marksRows: marksRows))
      case .mutation(let call):
        return .success(
          try await server.service(call).mutate(call.operation, call.variables, call.auth))
      case .subscribe(let call): try await subscribe(request.id, call)
      case .unsubscribe, .watchRows: break
      }
      return Self.done
    } catch {
      return .failure(error)
    }
  }

  // MARK: Subscriptions

  private func subscribe(_ id: Int64, _ call: EmulatorRequest.Call) async throws {
    let generation = state.withLock(\.generation)
    // After an error the subscription stays: the next connectors may have the query.
    let refresher = try await server.service(call).subscribe(
      call.operation, call.variables, call.auth
    ) {
      [weak self] in self?.lines.send(EmulatorMessage.refresh(id).line)
    }
    let old: Refresher? = state.withLock { state in
      guard !state.isEnded, let known = state.subscriptions[id],
        known.refresher == nil || known.generation < generation
      else { return refresher }
      state.subscriptions[id] = Subscription(
        call: call, refresher: refresher, generation: generation)
      return known.refresher
    }
    old?.cancel()
  }

  /// After a change of the connectors: subscribes again, and refreshes.
  func reload() {
    let subscriptions = state.withLock { state in
      state.generation += 1
      return state.subscriptions
    }
    for (id, subscription) in subscriptions {
      Task {
        // A query that there is no more reports that when it is refreshed.
        try? await subscribe(id, subscription.call)
        lines.send(EmulatorMessage.refresh(id).line)
      }
    }
  }
}

extension EmulatorSession: RowCache {
  /// The emulator keeps the database open.
  var hasSource: Bool { true }

  func invalidate(_ rows: Set<RowIdentity>) async {
    // A line has a maximum length.
    let rows = Array(rows)
    for start in stride(from: 0, to: rows.count, by: Self.maximumRows) {
      let some = rows[start..<min(start + Self.maximumRows, rows.count)]
      lines.send(EmulatorMessage.written(Set(some)).line)
    }
  }

  func invalidateAll() async { lines.send(EmulatorMessage.anyWritten.line) }
}
