#if Server
  import GRPCCore
  import HearthEngine

  /// Bounds the bytes of the answers that are in memory as messages, as bytes, or written and not sent,
  /// of the whole server.
  ///
  ///     read ─▶ there is room ─▶ message ─▶ bytes ─▶ written ─▶ sent
  ///              │ no: dropped, and read again when there is
  ///
  /// There is room while the answers of the server have fewer bytes than the limit. Beyond it, a
  /// connection has room for few bytes of unary answers and of REST, and apart from that for few bytes
  /// or a few parts of streams: a client may read one stream only when it has the answers of others, for
  /// example in a loop over a result with a query in each turn. A part waits until nearly all of its own
  /// stream is sent. An answer that waits fails if its connection sends nothing for a while.
  final class AnswerBudget: Sendable {
    /// Bytes for which each queue has room.
    static let queueBytes = 1 << 20
    /// Streams of a connection for whose parts there is room, however large they are.
    static let queueParts = 4
    /// Answers with fewer bytes are not counted.
    static let countedBytes = 1024
    /// An answer that is not written yet is in memory as documents, as a message and as bytes.
    static let copies = 3

    /// The answers of one kind of a connection over HTTP/2.
    final class Queue: @unchecked Sendable {
      // Unchecked: protected by the budget's state.
      fileprivate let budget: AnswerBudget
      fileprivate let isOfStreams: Bool
      fileprivate var bytes = 0
      /// Rooms with bytes.
      fileprivate var parts = 0
      fileprivate var waiting: [Waiter] = []
      /// When the last bytes were sent, or the first answer began to wait.
      fileprivate var progress = ContinuousClock.now
      fileprivate var hasEnded = false

      fileprivate init(_ budget: AnswerBudget, isOfStreams: Bool) {
        self.budget = budget
        self.isOfStreams = isOfStreams
      }
    }

    /// The answers of one connection over HTTP/2.
    final class Connection: Sendable {
      fileprivate let unary: Queue
      fileprivate let streams: Queue
      private let rooms = Guarded(Line<AnswerRoom>())

      fileprivate init(_ budget: AnswerBudget) {
        unary = Queue(budget, isOfStreams: false)
        streams = Queue(budget, isOfStreams: true)
      }

      /// A room for a call of gRPC.
      func room(for method: some StringProtocol) -> AnswerRoom {
        AnswerRoom(AnswerBudget.streams.contains(String(method)) ? streams : unary)
      }

      /// A room for a call over REST. Its stream does not count what is written.
      var roomForREST: AnswerRoom { AnswerRoom(unary) }

      /// Adds a room, which another part of the server finds by its number.
      func add(_ room: AnswerRoom) -> Int { rooms.withLock { $0.append(room) } }

      func room(_ number: Int) -> AnswerRoom? { rooms.withLock { $0.elements[number] } }

      func remove(_ number: Int) { rooms.withLock { _ = $0.remove(number) } }

      /// The connection has ended: answers that wait fail.
      func end() { for queue in [unary, streams] { queue.end() } }
    }

    fileprivate final class Waiter: @unchecked Sendable {
      // Unchecked: protected by the budget's state.
      let room: AnswerRoom
      let bytes: Int
      var continuation: CheckedContinuation<Void, any Error>?
      var isCancelled = false

      init(_ room: AnswerRoom, _ bytes: Int) {
        self.room = room
        self.bytes = bytes
      }
    }

    fileprivate struct State {
      var bytes = 0
      /// Those with answers that wait.
      var waiting: [ObjectIdentifier: Queue] = [:]
    }

    fileprivate typealias Resumption = (
      CheckedContinuation<Void, any Error>, Result<Void, any Error>
    )

    fileprivate let limit: Int
    /// For an answer of a queue that sends nothing.
    private let patience: Duration
    fileprivate let state = Guarded(State())

    init(limit: Int, patience: Duration) {
      self.limit = limit
      self.patience = patience
    }

    /// Bytes that are counted.
    var bytes: Int { state.withLock(\.bytes) }

    /// Answers that wait for room.
    var waitingAnswers: Int {
      state.withLock { $0.waiting.values.reduce(0) { $0 + $1.waiting.count } }
    }

    func connection() -> Connection { Connection(self) }

    /// The methods of gRPC whose answers are streams.
    private static let streams: Set<String> = [
      "RunQuery", "BatchGetDocuments", "RunAggregationQuery", "ExecutePipeline", "Listen", "Write",
    ]

    /// Gives room to the answers that wait and ends those that have waited for too long: called every
    /// second, because room may come from other connections.
    func update(now: ContinuousClock.Instant = .now) {
      change { state in
        var resumed: [Resumption] = []
        for queue in state.waiting.values {
          queue.admit(&state, &resumed)
          if now - queue.progress >= patience { queue.refuse(Self.unread, &state, &resumed) }
        }
        return resumed
      }
    }

    private static let unread = Status(
      .resourceExhausted, "The client does not read the answers of its other calls.")
    fileprivate static let ended = Status(
      .cancelled, "The call has ended before its answer could be sent.")

    /// Changes the state, and resumes calls after that.
    fileprivate func change(_ body: (inout State) -> [Resumption]) {
      for (continuation, result) in state.withLock({ body(&$0) }) {
        continuation.resume(with: result)
      }
    }
  }

  extension AnswerBudget.Queue {
    fileprivate func admit(
      _ state: inout AnswerBudget.State, _ resumed: inout [AnswerBudget.Resumption]
    ) {
      if waiting.isEmpty { return }
      waiting.removeAll { waiter in
        guard waiter.room.isThere(state) else { return false }
        waiter.room.change(held: waiter.bytes, &state)
        if let continuation = waiter.continuation.take() {
          resumed.append((continuation, .success(())))
        }
        return true
      }
      if waiting.isEmpty { state.waiting[ObjectIdentifier(self)] = nil }
    }

    fileprivate func refuse(
      _ status: Status, _ state: inout AnswerBudget.State,
      _ resumed: inout [AnswerBudget.Resumption]
    ) {
      for waiter in waiting {
        if let continuation = waiter.continuation.take() {
          resumed.append((continuation, .failure(status)))
        }
      }
      waiting = []
      state.waiting[ObjectIdentifier(self)] = nil
    }

    fileprivate func end() {
      budget.change { state in
        hasEnded = true
        var resumed: [AnswerBudget.Resumption] = []
        refuse(AnswerBudget.ended, &state, &resumed)
        return resumed
      }
    }
  }

  /// The room of one call in the budget: for one answer that is not written, until its bytes are at the
  /// connection or nothing has the call any more, and for bytes that are written, until they are sent.
  final class AnswerRoom: ServerContext.TransportSpecific, @unchecked Sendable {
    // Unchecked: protected by the budget's state.

    /// Nil for a connection over HTTP/1, which has one answer at a time.
    private let queue: AnswerBudget.Queue?
    private var held = 0
    private var unsent = 0

    /// The header with the number of a call's room, on the way from the stream to the gate.
    static let header = "hearth-answer-room"

    init(_ queue: AnswerBudget.Queue? = nil) { self.queue = queue }

    deinit { end(isProgress: false) }

    // MARK: State

    fileprivate func isThere(_ state: AnswerBudget.State) -> Bool {
      guard let queue else { return true }
      if queue.isOfStreams, unsent >= StreamGuard.partBytes { return false }
      if state.bytes < queue.budget.limit || queue.bytes < AnswerBudget.queueBytes { return true }
      let others = queue.parts - (held + unsent > 0 ? 1 : 0)
      return queue.isOfStreams && others < AnswerBudget.queueParts
    }

    fileprivate func change(
      held heldBytes: Int = 0, unsent unsentBytes: Int = 0, _ state: inout AnswerBudget.State
    ) {
      guard let queue else { return }
      if held + unsent > 0 { queue.parts -= 1 }
      held += heldBytes
      unsent += unsentBytes
      if held + unsent > 0 { queue.parts += 1 }
      queue.bytes += heldBytes + unsentBytes
      state.bytes += heldBytes + unsentBytes
    }

    // MARK: Answers that are not written

    /// Ends the room of the answer before, and takes room for another if it is there now.
    func takes(_ bytes: Int) -> Bool {
      guard let (budget, bytes) = begin(bytes) else { return true }
      return budget.state.withLock { state in
        guard isThere(state) else { return false }
        change(held: bytes, &state)
        return true
      }
    }

    /// Ends the room of the answer before, and waits for room for another. Throws if the call or the
    /// connection ends before, or if nothing is sent for a while.
    func take(_ bytes: Int) async throws {
      if takes(bytes) { return }
      guard let (budget, bytes) = begin(bytes) else { return }
      let waiter = AnswerBudget.Waiter(self, bytes)
      try await withTaskCancellationHandler {
        try await withRPCCancellationHandler {
          try await wait(waiter, budget)
        } onCancelRPC: {
          self.cancel(waiter, budget)
        }
      } onCancel: {
        cancel(waiter, budget)
      }
    }

    private func begin(_ bytes: Int) -> (AnswerBudget, Int)? {
      end()
      guard let queue, bytes >= AnswerBudget.countedBytes else { return nil }
      return (queue.budget, bytes * AnswerBudget.copies)
    }

    /// The call has written its answer. The bytes of a unary one are on their way to the connection's
    /// thread, which may be late: without their room, answers without number would be on that way.
    func finish() { if queue?.isOfStreams == true { end() } }

    /// The answer is written, or never will be.
    func end(isProgress: Bool = true) {
      guard let queue else { return }
      queue.budget.change { state in
        if held == 0 { return [] }
        if isProgress { queue.progress = .now }
        return change(queue, held: -held, &state)
      }
    }

    private func wait(_ waiter: AnswerBudget.Waiter, _ budget: AnswerBudget) async throws {
      try await withCheckedThrowingContinuation { continuation in
        budget.change { state in
          guard let queue, !waiter.isCancelled, !queue.hasEnded else {
            return [(continuation, .failure(AnswerBudget.ended))]
          }
          if queue.waiting.isEmpty { queue.progress = .now }
          waiter.continuation = continuation
          queue.waiting.append(waiter)
          state.waiting[ObjectIdentifier(queue)] = queue
          return change(queue, &state)
        }
      }
    }

    private func cancel(_ waiter: AnswerBudget.Waiter, _ budget: AnswerBudget) {
      budget.change { _ in
        waiter.isCancelled = true
        queue?.waiting.removeAll { $0 === waiter }
        return waiter.continuation.take().map { [($0, .failure(AnswerBudget.ended))] } ?? []
      }
    }

    // MARK: Bytes that are written

    func write(_ bytes: Int) {
      queue?.budget.state.withLock { change(held: -held, unsent: bytes, &$0) }
    }

    /// - Parameter isProgress: Whether they have been sent; otherwise they never will be.
    func sent(_ bytes: Int, isProgress: Bool) {
      guard let queue else { return }
      queue.budget.change { state in
        if isProgress { queue.progress = .now }
        return change(queue, unsent: -bytes, &state)
      }
    }

    /// Changes the state, and admits what has room then.
    private func change(
      _ queue: AnswerBudget.Queue, held: Int = 0, unsent: Int = 0,
      _ state: inout AnswerBudget.State
    ) -> [AnswerBudget.Resumption] {
      change(held: held, unsent: unsent, &state)
      var resumed: [AnswerBudget.Resumption] = []
      queue.admit(&state, &resumed)
      return resumed
    }
  }

  extension ServerContext {
    /// That of this call.
    var answerRoom: AnswerRoom { transportSpecific as? AnswerRoom ?? AnswerRoom() }
  }
#endif
