import DequeModule
import Foundation

/// Writes many documents independently: each write succeeds or fails alone.
///
///     let bulk = db.bulkWriter { failure in print(failure.document.path, failure.error) }
///     for book in shelf {
///       try await bulk.enqueueSet(from: book, forDocument: books.document(book.isbn))
///     }
///     let summary = await bulk.finish()
///
/// A call waits only until there is room for its write, so pending writes use bounded memory.
/// Failures go to `onFailure`, and the summary counts them. Writes of one task to one document are
/// applied in order; all other writes in any order. Reads of this process that begin after a call
/// see its write. No write waits for the callbacks of listeners.
public final class BulkWriter: Sendable {
  /// A write that failed. Nothing of it was applied, unless `error` says that the outcome is
  /// unknown.
  public struct Failure: Sendable {
    /// The document that was not written.
    public let document: DocumentReference
    /// Why the write failed.
    public let error: NSError
  }

  /// The progress of a bulk writer. Counts start at its creation.
  public struct Progress: Sendable, Hashable {
    /// All writes so far, done or not.
    public var writes = 0
    /// Writes that were committed.
    public var done = 0
    /// Writes that failed.
    public var failed = 0
    /// Memory, in bytes, that the done and failed writes used while pending. A write that was
    /// refused before it was queued counts as 0.
    public var bytes = 0
  }

  fileprivate struct State {
    var progress = Progress()
    /// Of the writes that were admitted and are not done.
    var bytes = 0
    /// Calls that wait for room, in order.
    var waiting: Deque<(bytes: Int, resume: CheckedContinuation<Void, Never>)> = []
    /// Calls of `flush` that wait until the writer is idle.
    var finishing: [CheckedContinuation<Void, Never>] = []
    var isFinished = false
    /// A call of `onProgress` is scheduled.
    var isReporting = false
  }

  private let firestore: Firestore
  private let limitBytes: Int
  private let onFailure: @Sendable (Failure) -> Void
  private let onProgress: (@Sendable (Progress) -> Void)?
  private let state = Guarded(State())

  fileprivate init(
    _ firestore: Firestore, limitBytes: Int, onProgress: (@Sendable (Progress) -> Void)?,
    onFailure: @escaping @Sendable (Failure) -> Void
  ) {
    self.firestore = firestore
    self.limitBytes = max(1, limitBytes)
    self.onProgress = onProgress
    self.onFailure = onFailure
  }

  /// The progress so far.
  public var progress: Progress { state.withLock(\.progress) }

  /// Waits until all writes are done or have failed, and returns the totals. Later writes fail with
  /// `failedPrecondition`.
  @discardableResult
  public func finish() async -> Progress {
    state.withLock { $0.isFinished = true }
    await flush()
    return progress
  }

  /// Waits until all writes added so far are done or have failed. May also wait for writes added
  /// meanwhile.
  public func flush() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if state.isIdle { return true }
        state.finishing.append(continuation)
        return false
      }
      if isIdle { continuation.resume() }
    }
  }

  // MARK: Writes
  // Each returns once there is room for the write. How it ends is reported later.

  /// Replaces the document, or creates it.
  public func enqueueSet(_ data: [String: Any], forDocument document: DocumentReference) async {
    await add(document) { try Mutation(setting: document, to: data, in: firestore) }
  }

  /// Merges `data` into the document, or creates it. Maps are merged field by field; other values
  /// are replaced.
  public func enqueueSet(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) async {
    await add(document) {
      try Mutation(setting: document, to: data, merge: merge ? .all : nil, in: firestore)
    }
  }

  /// Replaces the document with an encoded value, or creates it. Throws if the value cannot be
  /// encoded.
  public func enqueueSet<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = .standard
  ) async throws {
    let encoded = try encoder.encodedForWriting(value)
    await add(document) { try Mutation(setting: document, to: encoded, in: firestore) }
  }

  /// Creates the document. Fails with `alreadyExists` if it exists.
  public func enqueueCreate(_ data: [String: Any], forDocument document: DocumentReference) async {
    await add(document) {
      try Mutation(setting: document, to: data, in: firestore).creating()
    }
  }

  /// Creates the document from an encoded value. Throws if the value cannot be encoded; fails with
  /// `alreadyExists` if the document exists.
  public func enqueueCreate<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = .standard
  ) async throws {
    let encoded = try encoder.encodedForWriting(value)
    await add(document) {
      try Mutation(setting: document, to: encoded, in: firestore).creating()
    }
  }

  /// Updates fields of the document if `precondition` holds; by default, if the document exists.
  /// Otherwise fails, with `notFound` by default.
  public func enqueueUpdate(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition = .exists(true)
  ) async {
    await add(document) {
      try Mutation(updating: document, with: fields, in: firestore).requiring(precondition)
    }
  }

  /// Deletes the document, if it exists. Collections below it stay.
  public func enqueueDelete(_ document: DocumentReference) async {
    await add(document) { try Mutation(deleting: document, in: firestore) }
  }

  /// Deletes the document if `precondition` holds; otherwise fails.
  public func enqueueDelete(
    _ document: DocumentReference, precondition: WritePrecondition
  ) async {
    await add(document) {
      try Mutation(deleting: document, in: firestore).requiring(precondition)
    }
  }

  // MARK: Handing over

  private func add(_ document: DocumentReference, _ make: () throws -> Mutation) async {
    do {
      let mutation = try make()
      let bytes = mutation.byteCount
      let database = try firestore.database()
      // `Database.close` also waits while this waits for room.
      try await database.active {
        guard await hasRoom(for: bytes) else {
          throw Status(
            .failedPrecondition, "A bulk writer can no longer be used after finish has been called."
          )
        }
        database.backend.submit([mutation], completesAfterListeners: false, isCounted: false) {
          [self] failure in end(document, bytes, failure)
        }
      }
    } catch {
      state.withLock { state in
        state.progress.writes += 1
        state.progress.failed += 1
      }
      onFailure(Failure(document: document, error: Status(writingFailed: error).nsError))
      reportProgress()
    }
  }

  /// Waits for room. Returns false once the bulk writer is finished.
  private func hasRoom(for bytes: Int) async -> Bool {
    let isOpen: Bool? = state.withLock { state in
      if state.isFinished { return false }
      state.progress.writes += 1
      guard state.waiting.isEmpty, state.hasRoom(for: bytes, limitBytes) else { return nil }
      state.bytes += bytes
      return true
    }
    if let isOpen { return isOpen }
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state in
        state.waiting.append((bytes, continuation))
        return state.admit(limitBytes)
      }
      for resume in ready { resume.resume() }
    }
    return true
  }

  /// Runs on the writer's thread, or on the caller's if a write was refused at once.
  private func end(
    _ document: DocumentReference, _ bytes: Int, _ failure: Status?
  ) {
    if let failure { onFailure(Failure(document: document, error: failure.nsError)) }
    let ready = state.withLock { state in
      if failure == nil {
        state.progress.done += 1
      } else {
        state.progress.failed += 1
      }
      state.progress.bytes += bytes
      state.bytes -= bytes
      var ready = state.admit(limitBytes)
      if state.isIdle {
        ready += state.finishing
        state.finishing = []
      }
      return ready
    }
    for resume in ready { resume.resume() }
    reportProgress()
  }

  /// At most one delivery is scheduled, and it reports the newest state: a slow handler delays no
  /// write.
  private func reportProgress() {
    guard let onProgress else { return }
    if state.withLock({ exchange(&$0.isReporting, with: true) }) { return }
    firestore.callbackTarget(nil).carry { [self] in
      let progress = state.withLock { state in
        state.isReporting = false
        return state.progress
      }
      onProgress(progress)
    }
  }
}

extension BulkWriter.State {
  var isIdle: Bool { bytes == 0 && waiting.isEmpty }

  /// A single write always fits, however large.
  func hasRoom(for bytes: Int, _ limitBytes: Int) -> Bool {
    self.bytes == 0 || self.bytes + bytes <= limitBytes
  }

  /// Admits waiting calls in order, as long as there is room.
  mutating func admit(_ limitBytes: Int) -> [CheckedContinuation<Void, Never>] {
    var ready: [CheckedContinuation<Void, Never>] = []
    while let first = waiting.first, hasRoom(for: first.bytes, limitBytes) {
      bytes += first.bytes
      ready.append(first.resume)
      waiting.removeFirst()
    }
    return ready
  }
}

extension Status {
  init(writingFailed error: any Error) {
    self = error as? Status ?? Status(.unknown, "The write failed.", cause: error)
  }
}

extension Firestore {
  /// Returns a bulk writer, for many writes that succeed or fail independently.
  /// - Parameters:
  ///   - limitBytes: How much memory pending writes may use, in bytes. One write is always
  ///     accepted, however large.
  ///   - onFailure: Called for each failed write, on the writer's thread, or on the caller's if the
  ///     write is refused at once; it must return quickly. Defaults to
  ///     `unobservedWriteFailureHandler`.
  ///   - onProgress: Called from time to time, on the queue of the database's callbacks. No write
  ///     waits for it.
  public func bulkWriter(
    limitBytes: Int = 16 << 20, onFailure: (@Sendable (BulkWriter.Failure) -> Void)? = nil,
    onProgress: (@Sendable (BulkWriter.Progress) -> Void)? = nil
  ) -> BulkWriter {
    BulkWriter(self, limitBytes: limitBytes, onProgress: onProgress) { [self] failure in
      if let onFailure { onFailure(failure) } else { reportUnobserved(failure.error) }
    }
  }
}
