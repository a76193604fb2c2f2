import Foundation
import Hearth
import Logging
import Synchronization

/// A connector whose operations are executed by the process of an emulator.
///
/// A connection that ends is made again: at the next operation, and as long as there are
/// subscriptions. These are then refreshed, and cached results are too old.
final class EmulatorClient: Sendable {
  static let connectMilliseconds: Int32 = 300

  private typealias Answer = CheckedContinuation<OperationResponse, any Error>

  private struct Subscription {
    let call: EmulatorRequest.Call
    let refresher: Refresher
  }

  private enum Phase {
    /// Next: `connecting`.
    case idle
    /// Next: `connected`, or `idle` if nobody listens.
    case connecting(Task<LineConnection, any Error>)
    /// Next: `idle`.
    case connected(LineConnection)
  }

  private struct State {
    var phase = Phase.idle
    var lastID: Int64 = 0
    var waiting: [Int64: Answer] = [:]
    var subscriptions: [Int64: Subscription] = [:]
    var isReconnecting = false

    func isConnected(_ connection: LineConnection) -> Bool {
      if case .connected(let current) = phase { current === connection } else { false }
    }
  }

  private let host: String
  private let port: Int
  private let config: ConnectorConfig
  private let settings: DataConnectSettings
  private let state = Mutex(State())
  private let caches = RowCaches()

  /// The connection ended before the answer came.
  private struct Ended: Error {
    var wasSent: Bool
  }

  /// Connects. Nil if no emulator listens; returns after `connectMilliseconds` at the latest.
  init?(
    host: String, port: Int, _ config: ConnectorConfig,
    _ settings: DataConnectSettings = DataConnectSettings()
  ) {
    self.host = host
    self.port = port
    self.config = config
    self.settings = settings
    guard let socket = Self.connect(host, port) else { return nil }
    let connection = LineConnection(socket)
    state.withLock { $0.phase = .connected(connection) }
    start(connection)
  }

  deinit {
    if case .connected(let connection) = state.withLock(\.phase) { connection.end() }
  }

  // MARK: Connection

  /// A socket whose greeting is read.
  private static func connect(_ host: String, _ port: Int) -> LoopbackSocket? {
    let end = ContinuousClock.now + .milliseconds(connectMilliseconds)
    guard
      let socket = LoopbackSocket.connected(
        host: host, port: port, milliseconds: connectMilliseconds)
    else { return nil }
    var line: [UInt8] = []
    var byte: [UInt8] = [0]
    // Another server may say something else, or nothing.
    while line.count < 100 {
      let rest = ContinuousClock.now.duration(to: end) / .milliseconds(1)
      guard rest > 0, socket.wait(for: Int32(POLLIN), Int32(rest.rounded(.up))),
        socket.read(into: &byte) == 1
      else { break }
      if byte[0] == UInt8(ascii: "\n") {
        if case .greeting? = EmulatorMessage(line: line) { return socket }
        break
      }
      line.append(byte[0])
    }
    socket.close()
    return nil
  }

  private func start(_ connection: LineConnection) {
    connection.start { [weak self] line in
      guard let self, let message = line.flatMap({ EmulatorMessage(line: $0) }) else {
        return .finishes
      }
      return take(message)
    } onEnd: { [weak self] in
      self?.ended(connection)
    }
    if !caches.isEmpty { watchRows(connection) }
  }

  private func connected() async throws -> LineConnection {
    let (connection, task) = state.withLock {
      state -> (LineConnection?, Task<LineConnection, any Error>?) in
      switch state.phase {
      case .connected(let connection): return (connection, nil)
      case .connecting(let task): return (nil, task)
      case .idle:
        let task = Task { try await connect() }
        state.phase = .connecting(task)
        return (nil, task)
      }
    }
    if let connection { return connection }
    guard let task else { throw CancellationError() }
    return try await task.value
  }

  private func connect() async throws -> LineConnection {
    let socket = try await onBlockingThread { [host, port] in Self.connect(host, port) }
    guard let socket else {
      state.withLock { $0.phase = .idle }
      throw DataConnectInternalError(
        .emulatorUnavailable, "No emulator answers at \(host):\(port). Start it again.")
    }
    // Commits that the last connection did not see.
    await caches.invalidateAll()
    let connection = LineConnection(socket)
    state.withLock { $0.phase = .connected(connection) }
    start(connection)
    return connection
  }

  private func ended(_ connection: LineConnection) {
    let (waiting, reconnects) = state.withLock { state in
      if state.isConnected(connection) { state.phase = .idle }
      defer { state.waiting = [:] }
      let reconnects = !state.subscriptions.isEmpty && !state.isReconnecting
      if reconnects { state.isReconnecting = true }
      return (state.waiting.values, reconnects)
    }
    for answer in waiting { answer.resume(throwing: Ended(wasSent: true)) }
    guard reconnects else { return }
    Task { [weak self] in
      var pause = Duration.milliseconds(50)
      while true {
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(1))
        guard let self, await !self.reconnected() else { return }
      }
    }
  }

  /// Whether there is a connection with all subscriptions, or no subscription.
  private func reconnected() async -> Bool {
    let subscriptions = state.withLock { state in
      if state.subscriptions.isEmpty { state.isReconnecting = false }
      return state.subscriptions
    }
    if subscriptions.isEmpty { return true }
    guard let connection = try? await connected() else { return false }
    for (id, subscription) in subscriptions {
      do {
        _ = try await ask(connection, .subscribe(subscription.call), id: id)
      } catch is Ended {
        return false
      } catch {
        // The emulator has no such query now: the refresh reports it.
      }
      if state.withLock({ $0.subscriptions[id] == nil }) { unsubscribe(id) }
    }
    let isConnected = state.withLock { state in
      if state.isConnected(connection) { state.isReconnecting = false }
      return !state.isReconnecting
    }
    if isConnected { for subscription in subscriptions.values { subscription.refresher.refresh() } }
    return isConnected
  }

  // MARK: Lines

  /// On the reading thread: what follows a line is done after it.
  private func take(_ message: EmulatorMessage) -> LineConnection.Next {
    switch message {
    case .greeting: break
    case .answer(let id, let result):
      state.withLock { $0.waiting.removeValue(forKey: id) }?.resume(with: result)
    case .refresh(let id):
      state.withLock { $0.subscriptions[id] }?.refresher.refresh()
    case .written(let rows): invalidate { await $0.invalidate(rows) }
    case .anyWritten: invalidate { await $0.invalidateAll() }
    case .error(let text):
      Logger(label: "hearth").error(
        "The emulator has ended the connection.", metadata: ["reason": "\(text)"])
    }
    return .reads
  }

  private func invalidate(_ body: @escaping @Sendable (RowCaches) async -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task { [caches] in
      await body(caches)
      done.signal()
    }
    done.wait()
  }

  private func nextID() -> Int64 {
    state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
  }

  /// Throws `Ended`, the error of the answer, and `CancellationError`.
  private func ask(
    _ connection: LineConnection, _ action: EmulatorRequest.Action, id: Int64
  ) async throws -> OperationResponse {
    let line = EmulatorRequest(id, action).line
    guard line.utf8.count <= LineConnection.maximumLineBytes else {
      throw DataConnectCodecError(
        .encodingFailed,
        "The variables have more than \(LineConnection.maximumLineBytes) bytes, and an emulator "
          + "takes no more.")
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { answer in
        let problem: (any Error)? = state.withLock { state in
          if Task.isCancelled { return CancellationError() }
          guard state.isConnected(connection) else { return Ended(wasSent: false) }
          state.waiting[id] = answer
          return nil
        }
        if let problem { return answer.resume(throwing: problem) }
        connection.send(line)
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: id) }?
        .resume(throwing: CancellationError())
    }
  }

  /// Calls `body` once more if the connection ends, because it changes nothing.
  private func twice<Result>(
    _ body: (LineConnection) async throws -> Result
  ) async throws -> Result {
    do {
      return try await body(connected())
    } catch is Ended {
      do {
        return try await body(connected())
      } catch is Ended {
        throw DataConnectInternalError(
          .emulatorUnavailable, "The emulator at \(host):\(port) ends connections.")
      }
    }
  }

  private func call(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?
  ) -> EmulatorRequest.Call {
    EmulatorRequest.Call(
      service: config.serviceId, connector: config.connector, operation: name,
      variables: variables, auth: auth, isStrict: settings.isStrict,
      refreshesOnChange: settings.refreshesOnChange)
  }

  private func watchRows(_ connection: LineConnection) {
    connection.send(EmulatorRequest(nextID(), .watchRows).line)
  }
}

extension EmulatorClient: OperationExecutor {
  var databaseName: String { "emulator \(host):\(port)" }
  var cacheFolder: String? { nil }
  func changeToken() async throws -> ChangeToken? { nil }

  func hasSameRows(_ old: ChangeToken, _ new: ChangeToken) async throws -> Bool { false }

  /// The emulator reports all rows.
  func announceCaches() async throws {}

  func query(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?, marksRows: Bool
  ) async throws -> OperationResponse {
    let action = EmulatorRequest.Action.query(call(name, variables, auth), marksRows: marksRows)
    return try await twice { try await ask($0, action, id: nextID()) }
  }

  func mutate(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?
  ) async throws -> OperationResponse {
    let action = EmulatorRequest.Action.mutation(call(name, variables, auth))
    return try await twice { connection in
      do {
        return try await ask(connection, action, id: nextID())
      } catch let ended as Ended where ended.wasSent {
        throw DataConnectInternalError(
          .unknownOutcome,
          "The connection to the emulator ended before its answer: the mutation \(name) may have "
            + "been executed.")
      }
    }
  }

  func subscribe(
    _ name: String, _ variables: DataObject, _ auth: DataConnectAuth?,
    _ refresh: @escaping @Sendable () async -> Void
  ) async throws -> Refresher {
    let call = call(name, variables, auth)
    let id = nextID()
    let refresher = Refresher(refresh) { [weak self] in self?.unsubscribe(id) }
    do {
      try await twice { connection in
        _ = try await ask(connection, .subscribe(call), id: id)
        try state.withLock { state in
          guard state.isConnected(connection) else { throw Ended(wasSent: true) }
          state.subscriptions[id] = Subscription(call: call, refresher: refresher)
        }
      }
    } catch {
      refresher.cancel()
      throw error
    }
    return refresher
  }

  private func unsubscribe(_ id: Int64) {
    let connection: LineConnection? = state.withLock { state in
      state.subscriptions[id] = nil
      if case .connected(let connection) = state.phase { return connection }
      return nil
    }
    connection?.send(EmulatorRequest(nextID(), .unsubscribe(subscription: id)).line)
  }

  func add(_ cache: ResultCache) {
    let isFirst = caches.isEmpty
    caches.add(cache)
    if isFirst, case .connected(let connection) = state.withLock(\.phase) { watchRows(connection) }
  }
}
