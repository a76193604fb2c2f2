import Foundation
import Hearth

/// A change of the results of a live query, and the state after it.
public struct LiveQueryChange<T: ParseObject>: Sendable {
  /// The change, with the object.
  public let event: LiveQueryEvent<T>
  /// The state from which `Query.changes(since:)` continues without missing a change. Changes may be
  /// delivered together, of one commit or of several: the last one has the state after all of them,
  /// the others have the state before. A program that stops in between receives them again. Nil
  /// after the database is closed.
  public let token: ChangeToken?
}

extension Query {
  /// Delivers the results now, and again after each commit that changes them or the objects that
  /// they include.
  ///
  ///     for try await books in Book.query().include("isbn").results { print(books.count) }
  ///
  /// Follows orders, limits, relations and included objects, whoever writes them: this process,
  /// another one, or Firestore's interface. Keeps the database and the identity of the call.
  /// Cancelling the task ends it. A loop that is slower than the commits gets several of them as one
  /// element. Iteration throws `ParseError`, as `findReadable()` does: an object that cannot be read is
  /// left out and logged as an error; see `readableResults`.
  public var results: AsyncThrowingStream<[T], any Error> {
    stream { context, elements in
      try await forEachState(context, { $0.log() }) { await elements.send($0.found.objects) }
    }
  }

  /// Same as `results`, with the errors of the objects that cannot be read, as `findReadable()` returns
  /// them. Logs none of them.
  ///
  ///     for try await found in Book.query().readableResults {
  ///       print(found.objects.count, found.failures.map(\.message))
  ///     }
  public var readableResults: AsyncThrowingStream<ReadableObjects<T>, any Error> {
    stream { context, elements in
      try await forEachState(context, { _ in }) { await elements.send($0.found) }
    }
  }

  /// Delivers the changes of the results after the call. The results themselves are not delivered.
  ///
  ///     for try await event in try Author.queryRelations("authors", parent: book).subscribe() {
  ///       if case .entered(let author) = event { print(author.name ?? "") }
  ///     }
  ///
  /// The first results are read shortly after the call. A write that commits in between is part of
  /// them, and no event: to miss none, use `changes(since:)` with a token from before, or
  /// `subscribeCallback`, whose `handleSubscribe` says when they are read.
  /// Follows the same data as `results`, and throws as it does. An object that cannot be read makes no
  /// event: when it can be read again, it is updated or entered, and when it is no result any more, it
  /// has left or is deleted if it was one before.
  ///
  /// - Parameter unreadable: Called between events with the error of an object that cannot be read, once
  ///   until it can be read or fails otherwise. Nil: the error is logged.
  public func subscribe(
    unreadable: (@Sendable (ParseError) -> Void)? = nil
  ) -> AsyncThrowingStream<LiveQueryEvent<T>, any Error> {
    subscribe(
      in: Result { () throws(ParseError) in try ParseSwift.context },
      unreadable: unreadable ?? { $0.log() }, begun: {})
  }

  /// The same for a database and an identity that were found before. `begun` is called before the
  /// first event, when the first results are known.
  func subscribe(
    in context: Result<QueryContext, ParseError>,
    unreadable: @escaping @Sendable (ParseError) -> Void, begun: @escaping @Sendable () -> Void
  ) -> AsyncThrowingStream<LiveQueryEvent<T>, any Error> {
    stream(in: context) { context, elements in
      try await follow(context, unreadable, begun) { event, _ in await elements.send(event) }
    }
  }

  /// Delivers the changes of the results since a state, also those of times when no process was
  /// running.
  ///
  ///     for try await change in Book.query("publishingYear" > 1960).changes(since: token) {
  ///       print(change.event)
  ///       token = change.token  // Codable: store it
  ///     }
  ///
  /// Several changes of one object between the state and the call are one. Iteration throws
  /// `ParseError` with `.operationForbidden` if the change log no longer reaches back to the state,
  /// and if the query includes objects or orders by distance: read all results with `find()` then.
  ///
  /// An object that cannot be read makes no event, until it is no result any more: the object of that
  /// event has only its id.
  ///
  /// - Parameters:
  ///   - token: The state to continue from: the token of the change that was processed last. Nil: as
  ///     `subscribe(unreadable:)`, with tokens.
  ///   - unreadable: As in `subscribe(unreadable:)`.
  public func changes(
    since token: ChangeToken?, unreadable: (@Sendable (ParseError) -> Void)? = nil
  ) -> AsyncThrowingStream<LiveQueryChange<T>, any Error> {
    let report = unreadable ?? { $0.log() }
    return stream { context, elements in
      guard let token else {
        return try await follow(context, report, {}) {
          await elements.send(LiveQueryChange(event: $0, token: $1))
        }
      }
      guard paths.isEmpty, center == nil else {
        throw ParseError(
          .operationForbidden,
          "A query that includes objects, or orders them by distance, does not continue.")
      }
      var state: ChangeToken? = token
      for try await snapshot in try built(context).snapshots(resumingFrom: token) {
        guard !snapshot.isFullResync else {
          throw ParseError(
            .operationForbidden,
            "The changes since then are not known any more: read all results.")
        }
        await Self.deliver(
          try await events(
            snapshot.documentChanges, since: state, until: snapshot.token, context, report),
          from: state, to: snapshot.token
        ) { await elements.send(LiveQueryChange(event: $0, token: $1)) }
        state = snapshot.token
      }
    }
  }

  /// The results after a commit.
  private struct State {
    var found: ReadableObjects<T>
    var documents: [QueryDocumentSnapshot]
    /// Of each document, its fields and those of the documents that it includes.
    var contents: [[Data?]]
    var token: ChangeToken?
  }

  /// - Parameter report: Gets the error of each object that cannot be read, unless the state before had
  ///   the same.
  private func forEachState(
    _ context: QueryContext, _ report: (ParseError) -> Void, _ body: (State) async throws -> Void
  ) async throws {
    var reported: Set<String> = []
    func deliver(_ state: State) async throws {
      let known = reported
      reported = []
      for failure in state.found.failures {
        let name = "\(failure.className ?? "")/\(failure.objectId ?? ""): \(failure.message)"
        if reported.insert(name).inserted, !known.contains(name) { report(failure) }
      }
      try await body(state)
    }
    let query = try built(context)
    if paths.isEmpty {
      for try await snapshot in query.snapshots {
        let documents = snapshot.documents
        try await deliver(
          State(
            found: try read(documents, context, .collect), documents: documents,
            contents: documents.map { [$0.encodedFields] }, token: snapshot.token))
      }
    } else {
      for try await snapshot in query.including(paths.map(\.inclusion)).snapshots {
        let documents = snapshot.documents
        try await deliver(
          State(
            found: try read(documents, context, .collect), documents: documents.map(\.document),
            contents: documents.map { Self.content(of: $0, paths, context) },
            token: snapshot.results.token))
      }
    }
  }

  /// The fields of a document and of those that it includes, as far as they may be read.
  private static func content(
    of document: IncludingDocument, _ paths: [IncludePath], _ context: QueryContext
  ) -> [Data?] {
    var content = [document.document.encodedFields]
    for path in paths {
      for included in document.included(path.key) {
        if let identity = context.identity,
          !ParseACL.allows(.read, ParseACL(stored: included["ACL"]), to: identity)
        {
          content.append(nil)
        } else {
          content += Self.content(of: included, path.inner, context)
        }
      }
      // Separates the documents of two keys.
      content.append(nil)
    }
    return content
  }

  private func follow(
    _ context: QueryContext, _ report: (ParseError) -> Void, _ begun: () -> Void,
    _ send: (LiveQueryEvent<T>, ChangeToken?) async -> Void
  ) async throws {
    var before: [String: (object: T, content: [Data?], createTime: Timestamp?)]?
    var token: ChangeToken?
    try await forEachState(context, report) { state in
      let objects = state.found.byID
      let unreadable = Set(
        state.found.failures.filter { $0.className == T.className }.compactMap(\.objectId))
      var after: [String: (object: T, content: [Data?], createTime: Timestamp?)] = [:]
      for (document, content) in zip(state.documents, state.contents) {
        let id = document.documentID
        if let object = objects[id] {
          after[id] = (object, content, document.createTime)
        } else if unreadable.contains(id), let last = before?[id] {
          // Still a result: the object as it could be read last.
          after[id] = last
        }
      }
      if let before {
        let gone = before.filter { after[$0.key] == nil }.sorted { $0.key < $1.key }
        var events = try await Self.ended(
          gone.map { ($0.value.object, $0.value.createTime) }, at: state.token, context)
        let added = state.documents.filter { before[$0.documentID] == nil }
        let new = try await created(added, since: token, context)
        for object in state.found.objects {
          let id = object.objectId ?? ""
          if let old = before[id] {
            if old.content != after[id]?.content { events.append(.updated(object)) }
          } else {
            events.append(new.contains(id) ? .created(object) : .entered(object))
          }
        }
        await Self.deliver(events, from: token, to: state.token, send)
      } else {
        begun()
      }
      before = after
      token = state.token
    }
  }

  /// The token of an event that is not the last one leads to all of them again.
  private static func deliver(
    _ events: [LiveQueryEvent<T>], from before: ChangeToken?, to after: ChangeToken?,
    _ send: (LiveQueryEvent<T>, ChangeToken?) async -> Void
  ) async {
    for event in events.dropLast() { await send(event, before) }
    if let last = events.last { await send(last, after) }
  }

  /// From the changes of the documents: those that are no longer results come first.
  private func events(
    _ changes: [DocumentChange], since state: ChangeToken?, until after: ChangeToken?,
    _ context: QueryContext,
    _ report: (ParseError) -> Void
  ) async throws -> [LiveQueryEvent<T>] {
    let found = try ObjectReading.objects(
      changes.map(\.document), as: T.self, context, .collect)
    let objects = found.byID
    let gone = changes.filter { $0.type == .removed }.map { change in
      let id = change.document.documentID
      return (object: objects[id] ?? T(objectId: id), createTime: change.document.createTime)
    }
    let isGone = Set(gone.compactMap(\.object.objectId))
    for failure in found.failures where !isGone.contains(failure.objectId ?? "") {
      report(failure)
    }
    let changed = changes.compactMap { change in
      objects[change.document.documentID].map { (change, $0) }
    }
    let added = changed.filter { $0.0.type == .added }.map(\.0.document)
    let new = try await created(added, since: state, context)
    return try await Self.ended(gone, at: after, context)
      + changed.filter { $0.0.type != .removed }.map { change, object in
        if change.type == .modified { return .updated(object) }
        return new.contains(change.document.documentID) ? .created(object) : .entered(object)
      }
  }

  /// Objects that are no longer results: those that existed after the commit have left.
  ///
  /// - Parameter state: The state after the commit.
  private static func ended(
    _ gone: [(object: T, createTime: Timestamp?)], at state: ChangeToken?, _ context: QueryContext
  ) async throws -> [LiveQueryEvent<T>] {
    if gone.isEmpty { return [] }
    let firestore = context.firestore
    let references = try gone.map { try $0.object.toPointer().reference(in: firestore) }
    var documents = try await firestore.getAll(references)
    let missing = documents.indices.filter { !documents[$0].exists }
    // They may have been deleted later.
    if !missing.isEmpty, let time = try await time(of: state, firestore) {
      do {
        let past = try await firestore.snapshot(at: time).getAll(missing.map { references[$0] })
        for (index, document) in zip(missing, past) { documents[index] = document }
      } catch FirestoreErrorCode.outOfRange {
        // The state is not known any more: they are deleted now.
      }
    }
    return zip(gone, documents).map { gone, document in
      // Another object may have the id now.
      document.exists && document.createTime == gone.createTime
        ? .left(gone.object) : .deleted(gone.object)
    }
  }

  /// A time at which the database was in a state. Nil for the newest state, and for one that is not
  /// known any more.
  private static func time(
    of state: ChangeToken?, _ firestore: Firestore
  ) async throws -> Timestamp? {
    try await commit(after: state, firestore).map { next in
      next.nanoseconds >= 1000
        ? Timestamp(seconds: next.seconds, nanoseconds: next.nanoseconds - 1000)
        : Timestamp(seconds: next.seconds - 1, nanoseconds: 999_999_000)
    }
  }

  /// The time of the first commit after a state. Nil if there is none, and if it is not known any more.
  private static func commit(
    after state: ChangeToken?, _ firestore: Firestore
  ) async throws -> Timestamp? {
    guard let state, try await firestore.changeToken() != state else { return nil }
    var changes = firestore.changes(since: state).makeAsyncIterator()
    do { return try await changes.next()?.commitTime } catch FirestoreErrorCode.outOfRange {
      return nil
    }
  }

  /// The ids of those documents that were results from the commit that created them on, after an earlier
  /// state. All others existed before they became results: another commit changed them, or another result
  /// left a limit.
  ///
  ///     state ── created, no result ── … ── a result     entered
  ///     state ── created, a result ─────────────────     created
  private func created(
    _ documents: [QueryDocumentSnapshot], since state: ChangeToken?, _ context: QueryContext
  ) async throws -> Set<String> {
    var open: [Timestamp: Set<String>] = [:]
    var created: Set<String> = []
    for document in documents {
      guard let time = document.createTime else { continue }
      if time == document.updateTime, dependsOnObjectsAlone {
        // As it is, it has always been a result.
        created.insert(document.documentID)
      } else {
        open[time, default: []].insert(document.documentID)
      }
    }
    if open.isEmpty { return created }
    let first = try await Self.commit(after: state, context.firestore)
    let query = try built(context)
    for (time, ids) in open where first.map({ time.compare($0) != .orderedAscending }) ?? true {
      do {
        let past = try await context.firestore.snapshot(at: time).getDocuments(query).documents
        created.formUnion(ids.intersection(past.map(\.documentID)))
      } catch FirestoreErrorCode.outOfRange {
        // Created before what is known of the past.
      }
    }
    return created
  }

  /// Whether an object is a result by its own properties, at any time and whatever the other objects are.
  private var dependsOnObjectsAlone: Bool {
    limit == nil && skip == 0 && constraints.allSatisfy(\.isOfObjectAlone)
  }

  private func stream<Element: Sendable>(
    in context: Result<QueryContext, ParseError> = Result { () throws(ParseError) in
      try ParseSwift.context
    },
    _ body: @escaping @Sendable (QueryContext, HandOver<Element>) async throws -> Void
  ) -> AsyncThrowingStream<Element, any Error> {
    LiveTask.stream { elements in
      do { try await body(context.get(), elements) } catch { throw ParseError(error) }
    }
  }
}

/// A change of the results of a live query.
public enum LiveQueryEvent<T: ParseObject>: Sendable {
  /// An object that existed before is a result now.
  case entered(T)
  /// An object is no longer a result, and still exists.
  case left(T)
  /// A new object is a result.
  case created(T)
  /// A result, or an object that it includes, changed.
  case updated(T)
  /// A result was deleted.
  case deleted(T)
}
