import DequeModule
import Foundation

/// Many writes that have nothing to do with one another: each is done or fails alone.
///
///     let bulk = db.bulkWriter { failure in print(failure.document.path, failure.error) }
///     for book in shelf {
///       try await bulk.setData(from: book, forDocument: books.document(book.isbn))
///     }
///     let summary = await bulk.finish()
///
/// A call waits only until there is room for its write, so that the writes that wait take bounded memory; failures go
/// to `onFailure`, and the summary counts them. Writes of one task to one document are done in their order; others in
/// any. Reads of this process that begin after a call see its write. No write waits for the callbacks of listeners.
public final class BulkWriter: Sendable {
  /// A write that was not done. Nothing of it was applied, unless its error says that that is unknown.
  public struct Failure: Sendable {
    public let document: DocumentReference
    public let error: NSError
  }

  /// How far the writes have come.
  public struct Progress: Sendable, Hashable {
    /// Handed over so far, done or not.
    public var writes = 0
    public var done = 0
    public var failed = 0
    /// Of those that are done or failed, as they waited in memory.
    public var bytes = 0
  }

  fileprivate struct State {
    var progress = Progress()
    /// Of the writes that are handed over and not done.
    var bytes = 0
    /// For room, in order.
    var waiting: Deque<(bytes: Int, resume: CheckedContinuation<Void, Never>)> = []
    /// For the end of all that was handed over.
    var finishing: [CheckedContinuation<Void, Never>] = []
    var isFinished = false
    /// A delivery of progress is on its way.
    var isTelling = false
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

  public var progress: Progress { state.withLock(\.progress) }

  /// Takes no more writes, and waits until all are done or have failed.
  @discardableResult
  public func finish() async -> Progress {
    state.withLock { $0.isFinished = true }
    await flush()
    return progress
  }

  /// Waits until all writes handed over so far, and perhaps more, are done or have failed.
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

  /// Replaces the document, or makes it.
  public func setData(_ data: [String: Any], forDocument document: DocumentReference) async {
    await add(document) { try Mutation(setting: document, to: data, in: firestore) }
  }

  /// Merges into the document: maps field by field, everything else as a whole.
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) async {
    await add(document) {
      try Mutation(setting: document, to: data, merge: merge ? .all : nil, in: firestore)
    }
  }

  /// Replaces the document with an encoded value. Throws if it cannot be encoded.
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    let encoded = try encoder.encodedForWriting(value)
    await add(document) { try Mutation(setting: document, to: encoded, in: firestore) }
  }

  /// Makes the document; fails with `alreadyExists` if it is there.
  public func create(_ data: [String: Any], forDocument document: DocumentReference) async {
    await add(document) {
      try Mutation(setting: document, to: data, in: firestore).creating()
    }
  }

  /// Makes the document from an encoded value. Throws if it cannot be encoded.
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    let encoded = try encoder.encodedForWriting(value)
    await add(document) {
      try Mutation(setting: document, to: encoded, in: firestore).creating()
    }
  }

  /// Changes fields of a document that exists, or for which `precondition` holds.
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition = .exists(true)
  ) async {
    await add(document) {
      try Mutation(updating: document, with: fields, in: firestore).requiring(precondition)
    }
  }

  public func deleteDocument(_ document: DocumentReference) async {
    await add(document) { try Mutation(deleting: document, in: firestore) }
  }

  public func deleteDocument(
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
      // Closing waits until this has room, too.
      try await database.active {
        guard await hasRoom(for: bytes) else {
          throw Status(
            .failedPrecondition, "A bulk writer can no longer be used after finish has been called."
          )
        }
        database.backend.submit([mutation], tellsListenersFirst: false, isCounted: false) {
          [self] failure in end(document, bytes, failure)
        }
      }
    } catch {
      state.withLock { state in
        state.progress.writes += 1
        state.progress.failed += 1
      }
      onFailure(Failure(document: document, error: Status(writingFailed: error).nsError))
      tellProgress()
    }
  }

  /// Waits for room. False once the writer is finished.
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

  /// On the writer's thread, or where a write was refused at once.
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
    tellProgress()
  }

  /// One delivery at a time, which tells the newest: a slow listener slows down nobody.
  private func tellProgress() {
    guard let onProgress else { return }
    let isFirst = state.withLock { state in
      defer { state.isTelling = true }
      return !state.isTelling
    }
    guard isFirst else { return }
    firestore.courier(nil).carry { [self] in
      let progress = state.withLock { state in
        state.isTelling = false
        return state.progress
      }
      onProgress(progress)
    }
  }
}

extension BulkWriter.State {
  var isIdle: Bool { bytes == 0 && waiting.isEmpty }

  /// One write always fits, however large.
  func hasRoom(for bytes: Int, _ limitBytes: Int) -> Bool {
    self.bytes == 0 || self.bytes + bytes <= limitBytes
  }

  /// Those of the waiting, in order, that there is room for.
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
  /// A writer for many writes of which each is done or fails alone.
  /// - Parameters:
  ///   - limitBytes: How much memory the writes that wait may take; one is always taken, however large.
  ///   - onFailure: Runs on the writer's thread, or on the caller's if the write is refused at once: be quick. By
  ///     default failures go to `unobservedWriteFailureHandler`.
  ///   - onProgress: Runs at times, on the queue of the database's callbacks. Nothing waits for it.
  public func bulkWriter(
    limitBytes: Int = 16 << 20, onFailure: (@Sendable (BulkWriter.Failure) -> Void)? = nil,
    onProgress: (@Sendable (BulkWriter.Progress) -> Void)? = nil
  ) -> BulkWriter {
    BulkWriter(self, limitBytes: limitBytes, onProgress: onProgress) { [self] failure in
      if let onFailure { onFailure(failure) } else { reportUnobserved(failure.error) }
    }
  }
}
