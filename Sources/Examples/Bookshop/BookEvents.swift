import FirebaseFirestore
import Foundation
import Logging
import ServiceLifecycle

/// The books of a query as server-sent events.
///
///     event: added      data: the book    first for each book, then for each change
///     event: modified   data: the book
///     event: removed    data: its id      also if it does not decode: the client must not keep it
///     event: ready      data: {}          a state without changes
///     event: reset      data: {}          the client forgets what it has: every book follows
///
/// The last event of a state has an id. A client that connects again sends it as `Last-Event-ID`.
struct BookEvents: Sendable {
  let query: Query
  let logger: Logger

  /// Sends events until the shutdown begins, the task is cancelled, or the listener fails.
  ///
  /// The status 200 is sent already. So an id that cannot be used is answered by a reset, and an
  /// error is logged here.
  func send(
    after lastEventID: String?, _ send: (_ event: String) async throws -> Void
  ) async throws {
    let bytes = lastEventID.flatMap { Data(base64Encoded: $0) }
    let token = bytes.flatMap { try? ChangeToken(bytes: $0) }
    do {
      // A connection may have ended before its first id.
      if token == nil { try await send(Self.reset) }
      do {
        return try await follow(after: token, send)
      } catch FirestoreErrorCode.invalidArgument where token != nil {
        // The token of another file.
        try await send(Self.reset)
      }
      try await follow(after: nil, send)
    } catch {
      if !Task.isCancelled { logger.error("A stream of books has failed: \(error)") }
      throw error
    }
  }

  private func follow(
    after token: ChangeToken?, _ send: (_ event: String) async throws -> Void
  ) async throws {
    for try await snapshot in query.snapshots(resumingFrom: token).cancelOnGracefulShutdown() {
      if snapshot.isFullResync { try await send(Self.reset) }
      let changes = snapshot.documentChanges
      // On the last event alone: a connection that ends between others would lose the rest.
      let id = snapshot.token.map { "id: \($0.bytes.base64EncodedString())\n" } ?? ""
      if changes.isEmpty { try await send("event: ready\ndata: {}\n\(id)\n") }
      for (index, change) in changes.enumerated() {
        // The first state has every book. Neither other requests nor the shutdown wait for all of them.
        if index % 64 == 63 { await Task.yield() }
        if Task.isCancelled || Task.isShuttingDownGracefully { return }
        try await send(event(change) + (index == changes.count - 1 ? id : "") + "\n")
      }
    }
  }

  private static let reset = "event: reset\ndata: {}\n\n"

  private func event(_ change: DocumentChange) throws -> String {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    var kind = DocumentChangeType.removed
    var json = try encoder.encode(["id": change.document.documentID])
    // A removed document is its last version in the result, which may be one that does not decode.
    if change.type != .removed {
      do {
        json = try encoder.encode(BookResponse(change.document.data(as: Book.self)))
        kind = change.type
      } catch {
        logger.error("\(change.document.reference.path) is left out: \(error)")
      }
    }
    return "event: \(kind)\ndata: \(String(decoding: json, as: UTF8.self))\n"
  }
}
