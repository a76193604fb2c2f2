#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf

  /// One `Listen` stream: its targets, and what the client knows of them.
  ///
  ///     add T    ─▶ ADD [T], documents of T, CURRENT [T], NO_CHANGE [] at a time
  ///     commit   ─▶ its documents, NO_CHANGE [] at its time
  ///     remove T ─▶ REMOVE [T]
  final class ListenStream: @unchecked Sendable {
    // Unchecked: used by one task at a time.

    private struct Target {
      /// Members of the target set: one for a query, one for each document.
      var members: Set<Int> = []
      /// Members whose first result has not come.
      var loading: Set<Int> = []
      var isOnce = false
      var isCurrent = false
      /// The number of documents that a resuming client knows.
      var expectsCount = false
      var counts: [Int: Int] = [:]
      var project: ((StoredDocument) throws(Status) -> StoredDocument)?
    }

    private enum Member {
      case document(ResourcePath)
      /// The query is kept for another database; nil if there will be none.
      case query(StructuredQuery?)
    }

    /// The database that is listened to.
    struct Source: Sendable {
      let database: ServedDatabase
      /// Ends its use.
      let close: @Sendable () -> Void
    }

    let name: DatabaseName
    private var source: Source
    private var database: ServedDatabase { source.database }
    private var set: TargetSet
    /// The number of the target set. Events of earlier sets are ignored.
    private var setNumber = 0
    private let inputs: ListenInputs
    private let targetLimit: Int
    private let memberLimit: Int
    private var targets: [Int32: Target] = [:]
    private var members: [Int: (target: Int32, kind: Member)] = [:]
    private var lastMember = 0
    /// The server chooses the ids of targets.
    private var choosesIDs: Bool?
    private var messages: PartWriter<ProtoListenResponse>
    /// The newest state whose time was sent.
    private var newest: (token: ChangeToken, time: StateTime)?
    /// The newest consistent snapshot; nil while the client has a part of the next one.
    private var snapshot: ProtoTargetChange?
    private var isClosed = false

    init(
      _ source: Source, _ name: DatabaseName, _ inputs: ListenInputs,
      _ writer: RPCWriter<ProtoListenResponse>, _ room: AnswerRoom = AnswerRoom(),
      targetLimit: Int, memberLimit: Int = 10_000
    ) {
      self.source = source
      self.targetLimit = targetLimit
      self.memberLimit = memberLimit
      self.inputs = inputs
      self.name = name
      messages = PartWriter(writer, room)
      set = TargetSet(on: source.database.backend) { inputs.add(.events($0, of: 0)) }
    }

    func close() {
      if isClosed { return }
      isClosed = true
      set.close()
      source.close()
    }

    /// The database, of which all targets have shown that it is empty, exists now: shows them its
    /// documents as those that were added.
    func move(to source: Source) {
      guard !isClosed else { return source.close() }
      let former = self.source
      set.close()
      self.source = source
      setNumber += 1
      set = TargetSet(on: source.database.backend) { [inputs, setNumber] in
        inputs.add(.events($0, of: setNumber))
      }
      former.close()
      (newest, snapshot) = (nil, nil)
      var added: [(id: Int, target: Listener.Target)] = []
      for (id, member) in members.sorted(by: { $0.key < $1.key }) {
        targets[member.target]?.loading.insert(id)
        switch member.kind {
        case .document(let path): added.append((id, .document(path)))
        case .query(let query):
          guard let query else { continue }
          added.append((id, .results(of: query)))
          if !database.isPlaceholder { members[id]?.kind = .query(nil) }
        }
      }
      set.add(added, from: nil)
    }

    func handle(_ input: ListenInputs.Input) async throws {
      do {
        try await respond(to: input)
      } catch let status as Status {
        throw name.named(status)
      }
    }

    private func respond(to input: ListenInputs.Input) async throws {
      switch input {
      case .request(let request): try await handle(request)
      case .events(let events, let number):
        guard number == setNumber else { return }
        for event in events { try await handle(event) }
      case .creation: break
      case .heartbeat: if let snapshot { changeOfAll(snapshot) }
      }
      try await messages.send()
    }

    // MARK: Requests

    private func handle(_ request: ProtoListenRequest) async throws {
      guard request.database.isEmpty || request.database == name.text else {
        throw Status.invalidArgument("A listen stream is of one database.")
      }
      switch request.targetChange {
      case .addTarget(let target): await add(target)
      case .removeTarget(let id):
        remove(id)
        change(.remove, of: id)
      case nil: throw Status.invalidArgument("A listen request adds or removes a target.")
      }
    }

    private func add(_ proto: ProtoTarget) async {
      var id = proto.targetID
      do throws(Status) {
        let choosesIDs = choosesIDs ?? (id == 0)
        self.choosesIDs = choosesIDs
        guard id >= 0, choosesIDs == (id == 0) else {
          throw .invalidArgument("The server chooses all ids of this stream's targets, or none.")
        }
        if choosesIDs { id = (targets.keys.max() ?? 0) + 1 }
        guard targets[id] == nil else {
          throw .invalidArgument("Target \(id) is in use.")
        }
        guard targets.count < targetLimit else {
          throw Status(
            .resourceExhausted, "A listen stream has at most \(targetLimit) targets.")
        }
        let (watched, project) = try await watched(proto)
        guard watched.count <= memberLimit - members.count else {
          throw Status(
            .resourceExhausted,
            "A listen stream has at most \(memberLimit) queries and single documents.")
        }
        var token = try await token(proto)
        // The client's documents are those of a database that is no longer there.
        let isForeign =
          token.map { !$0.isOfHistory(of: database.backend.token(after: 0)) } ?? false
        if isForeign { token = nil }
        var target = Target(isOnce: proto.once, expectsCount: proto.hasExpectedCount)
        target.project = project
        change(.add, of: id)
        if isForeign { change(.reset, of: id) }
        var added: [(id: Int, target: Listener.Target)] = []
        for (kind, listened) in watched {
          lastMember += 1
          members[lastMember] = (id, kind)
          target.members.insert(lastMember)
          added.append((lastMember, listened))
        }
        target.loading = target.members
        targets[id] = target
        set.add(added, from: token)
      } catch {
        fail(id, error)
      }
    }

    private func checkIndexes(_ query: StructuredQuery) async throws(Status) {
      do {
        try await database.checkIndexes(query)
      } catch {
        throw Status(readingFailed: error)
      }
    }

    private func watched(
      _ proto: ProtoTarget
    ) async throws(Status) -> (
      [(Member, Listener.Target)], ((StoredDocument) throws(Status) -> StoredDocument)?
    ) {
      switch proto.targetType {
      case .documents(let target):
        guard !target.documents.isEmpty else {
          throw .invalidArgument("A target of documents names at least one.")
        }
        let paths = try Set(
          target.documents.map { text throws(Status) in
            let path = try name.path(of: text)
            try path.checkNames(forWriting: false)
            return path
          })
        return (paths.map { (.document($0), .document($0)) }, nil)
      case .query(let target):
        let (parentName, parent) = try DatabaseName.parse(
          document: target.parent, allowsRoot: true)
        guard parentName == name else {
          throw .invalidArgument("A target is of the stream's database.")
        }
        let query = try name.query(target.structuredQuery, below: parent)
        try query.check()
        try query.checkListening()
        try await checkIndexes(query)
        let kept = database.isPlaceholder ? query : nil
        return ([(.query(kept), .results(of: query))], query.projecting)
      case nil: throw .invalidArgument("A target is a query or documents.")
      }
    }

    private func token(_ proto: ProtoTarget) async throws(Status) -> ChangeToken? {
      switch proto.resumeType {
      case .resumeToken(let bytes):
        if bytes.isEmpty { return nil }
        guard let token = try? ChangeToken(bytes: bytes) else {
          throw .invalidArgument("The resume token is invalid.")
        }
        return token
      case .readTime(let time):
        let time = Timestamp(try Instant(exactly: time, "The read time"))
        let backend = database.backend
        do {
          let version = try await backend.versioned(.nothing, at: time).version
          return backend.token(after: version.sequence)
        } catch {
          throw Status(readingFailed: error).ofReadTime
        }
      case nil: return nil
      }
    }

    private func remove(_ id: Int32) {
      for member in targets.removeValue(forKey: id)?.members ?? [] {
        members[member] = nil
        set.remove(member)
      }
    }

    private func fail(_ id: Int32, _ status: Status) {
      change(.remove, of: id, .with { $0.cause = .init(name.named(status)) })
    }

    // MARK: Events

    private func handle(_ event: TargetSet.Event) async throws {
      switch event {
      case .result(let member, let event): try await handle(event, of: member)
      case .failure(let member, let status):
        guard let (id, _) = members[member] else { return }
        remove(id)
        fail(id, status)
      case .current(let sequence):
        try await finish(database.backend.token(after: sequence))
      }
    }

    private func handle(_ event: ResultEvent, of member: Int) async throws {
      guard let (id, kind) = members[member], var target = targets[id] else { return }
      snapshot = nil
      target.loading.remove(member)
      // An empty set has memory, of which an idle stream needs none.
      if target.loading.isEmpty { target.loading = [] }
      target.counts[member] = event.list.count
      defer { targets[id] = target }
      switch kind {
      case .document(let path):
        // Never a reset: it would remove the target's other documents, and this event has the whole
        // state of its one.
        if let changes = event.changes, changes.isEmpty { return }
        if let document = event.list.first {
          try await put(document, id, target)
        } else {
          delete(path, id, at: try await time(of: event).sent)
        }
      case .query:
        if event.isFullResync { change(.reset, of: id) }
        guard let changes = event.changes else {
          for document in event.list.documents { try await put(document, id, target) }
          return
        }
        let removed = changes.filter { $0.kind == .removed }.map(\.document.path)
        if !removed.isEmpty { try await drop(removed, id, at: time(of: event)) }
        for change in changes where change.kind != .removed {
          try await put(change.document, id, target)
        }
      }
    }

    private func put(_ document: StoredDocument, _ id: Int32, _ target: Target) async throws {
      let proto = try name.proto(target.project?(document) ?? document)
      message(bytes: document.answerBytes) {
        $0.documentChange = .with {
          $0.document = proto
          $0.targetIds = [id]
        }
      }
      try await messages.sendIfFull()
    }

    /// Documents that are no longer in the result of a query. Some still exist.
    private func drop(_ paths: [ResourcePath], _ id: Int32, at time: StateTime) async throws {
      guard let found = try await documents(at: paths, time) else {
        for path in paths {
          message {
            $0.documentRemove = .with {
              $0.document = name.name(of: path)
              $0.removedTargetIds = [id]
              $0.readTime = .init(time.sent)
            }
          }
        }
        return
      }
      for (path, document) in zip(paths, found) {
        guard let document else {
          delete(path, id, at: time.sent)
          continue
        }
        let proto = try name.proto(document)
        message(bytes: document.answerBytes) {
          $0.documentChange = .with {
            $0.document = proto
            $0.removedTargetIds = [id]
          }
        }
        try await messages.sendIfFull()
      }
    }

    /// Nil if the change log does not reach back so far.
    private func documents(
      at paths: [ResourcePath], _ time: StateTime
    ) async throws -> [StoredDocument?]? {
      guard let time = time.own else { return nil }
      do {
        return try await database.documents(at: paths, .past(time))
      } catch let status as Status where status.code == .failedPrecondition {
        return nil
      }
    }

    private func delete(_ path: ResourcePath, _ id: Int32, at time: Timestamp) {
      message {
        $0.documentDelete = .with {
          $0.document = name.name(of: path)
          $0.removedTargetIds = [id]
          $0.readTime = .init(time)
        }
      }
    }

    /// The time of a state.
    private struct StateTime {
      /// Nil if the change log does not reach back to the state.
      var own: Timestamp?
      /// Its own, otherwise one between the state before and this one: it dates deletions, and with a
      /// later one a client would not take a document that is made again meanwhile. A client goes on
      /// from the token of a snapshot, not from its time.
      var sent: Timestamp
    }

    /// The time of the state that an event shows.
    private func time(of event: ResultEvent) async throws -> StateTime {
      try await time(of: database.backend.token(after: event.sequence))
    }

    private func time(of token: ChangeToken) async throws -> StateTime {
      if let newest, newest.token == token { return newest.time }
      let backend = database.backend
      var own: Timestamp?
      do {
        own = try await backend.awaiting { backend.time(of: token, .brief, $0) }
      } catch {
        let status = Status(readingFailed: error)
        guard status.code == .outOfRange else { throw status }
      }
      let before = newest.map { Instant($0.time.sent) }
      let sent: Instant
      if let own {
        sent = before.map { max($0, Instant(own)) } ?? Instant(own)
      } else if let before {
        // Each commit is a microsecond later at least.
        sent = Instant(microseconds: before.microseconds + 1)
      } else {
        sent = Instant(try await database.newestTime())
      }
      let time = StateTime(own: own, sent: Timestamp(sent))
      newest = (token, time)
      return time
    }

    /// All targets show the state of this token.
    private func finish(_ token: ChangeToken) async throws {
      var snapshot = ProtoTargetChange()
      snapshot.resumeToken = token.bytes
      snapshot.readTime = .init(try await time(of: token).sent)
      var done: [Int32] = []
      for (id, target) in targets.sorted(by: { $0.key < $1.key })
      where !target.isCurrent && target.loading.isEmpty {
        if target.expectsCount {
          message {
            $0.filter = .with {
              $0.targetID = id
              $0.count = Int32(clamping: target.counts.values.reduce(0, +))
            }
          }
        }
        targets[id]?.isCurrent = true
        if target.isOnce { done.append(id) }
        change(.current, of: id, snapshot)
      }
      changeOfAll(snapshot)
      self.snapshot = snapshot
      for id in done {
        remove(id)
        change(.remove, of: id)
      }
    }

    // MARK: Messages

    /// - Parameter bytes: Its size, about.
    private func message(bytes: Int = 128, _ fill: (inout ProtoListenResponse) -> Void) {
      var message = ProtoListenResponse()
      fill(&message)
      messages.add(message, bytes: bytes)
    }

    private func change(_ change: ProtoTargetChange) { message { $0.targetChange = change } }

    private func change(
      _ type: ProtoTargetChange.TargetChangeType, of id: Int32,
      _ change: ProtoTargetChange = ProtoTargetChange()
    ) {
      var change = change
      change.targetChangeType = type
      change.targetIds = [id]
      self.change(change)
    }

    /// A snapshot of all targets. A client takes its token for each of them, also for one that has
    /// nothing yet.
    private func changeOfAll(_ snapshot: ProtoTargetChange) {
      var snapshot = snapshot
      if !targets.values.allSatisfy(\.isCurrent) { snapshot.resumeToken = Data() }
      change(snapshot)
    }
  }

  extension StructuredQuery {
    /// Throws for queries that can be run but not listened to.
    fileprivate func checkListening() throws(Status) {
      switch scope {
      case .subtree:
        throw .invalidArgument("All-collection queries are not supported by real-time queries.")
      case .group(_, let below) where !below.isRoot:
        throw .invalidArgument(
          "'all_descendants' in CollectionSelector with document parent is not supported by "
            + "real-time queries.")
      case .group, .collection: break
      }
      guard question.traits.contains(.live) else {
        throw .invalidArgument("FindNearest is not supported by real-time queries.")
      }
    }
  }
#endif
