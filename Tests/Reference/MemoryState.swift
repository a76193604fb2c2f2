#if DEBUG
  @testable import HearthEngine

  /// A database in dictionaries, as simple as possible: the reference for the embedded engine.
  struct MemoryState: Sendable {
    var documents: [ResourcePath: StoredDocument] = [:]
    /// The change with sequence n is at n - 1.
    private(set) var log = MemoryLog()
    private(set) var lastTime = Instant(microseconds: 0)
    /// Declared indexes. Only their constraints have an effect.
    var indexes: [MemoryIndex] = []

    var sequence: UInt64 { UInt64(log.count) }

    // MARK: Writing

    /// The time for a commit that is made now.
    func time(_ now: Instant) -> Instant {
      max(now, Instant(microseconds: lastTime.microseconds + 1))
    }

    /// Applies all of a request, or throws and changes nothing.
    mutating func commit(
      _ mutations: [Mutation], at time: Instant
    ) throws(Status) -> CommitResult {
      let earliest = mutations.latestCopiedTime
      var staged = StagedRequest(
        self, at: max(time, earliest ?? time), isCopy: earliest != nil)
      for mutation in mutations { try staged.write(mutation) }
      return try staged.end(in: &self)
    }

    /// A request that is being made: its reads see its writes.
    struct StagedRequest {
      let time: Instant
      private(set) var base: MemoryState
      /// Paths in the order of their first writes. `fields` has nil for a document that was deleted.
      private(set) var order: [ResourcePath] = []
      private(set) var fields: [ResourcePath: MapValue?] = [:]
      /// Deleted during the request.
      private var renewed: Set<ResourcePath> = []
      /// The times of copied documents.
      private var copied: [ResourcePath: CopiedTimes] = [:]
      /// It has copied documents: constraints do not apply.
      let isCopy: Bool
      /// It does more than verify.
      private var hasWrites = false
      private var results: [(path: ResourcePath, result: MutationResult)] = []
      /// Changed by reference rules.
      var cascaded: [ResourcePath] = []
      /// The bytes that the bodies of `cascaded` had before the request.
      var cascadedBytes = 0
      /// Those that existed when the request deleted them.
      private(set) var wasDeleted: [ResourcePath] = []
      /// Those that rules have deleted, and nothing has created again.
      var deletedByRule: Set<ResourcePath> = []
      /// A deletion changes too much: the request cannot be committed.
      var failure: Status?

      init(_ base: MemoryState, at time: Instant? = nil, isCopy: Bool = false) {
        self.base = base
        self.isCopy = isCopy
        self.time = time ?? Instant(microseconds: base.lastTime.microseconds + 1)
      }

      /// Applies a write, and all that reference rules do after it.
      mutating func write(_ mutation: Mutation) throws(Status) {
        if let failure { throw failure }
        let deletions = wasDeleted.count
        results.append((mutation.path, try apply(mutation)))
        if wasDeleted.count == deletions || isCopy { return }
        do throws(Status) { try followDeletion(of: mutation.path) } catch {
          failure = error
          throw error
        }
      }

      mutating func apply(_ mutation: Mutation) throws(Status) -> MutationResult {
        let path = mutation.path
        let stored = base.documents[path]
        let known = fields[path]
        let before: MapValue? = if let known { known } else { try stored?.body.map() }
        do throws(Status) {
          try mutation.precondition.check(
            path, exists: before != nil || deletedByRule.contains(path) && mutation.storesNothing,
            updateTime: stored?.updateTime, at: time)
        } catch {
          guard case .verify = mutation.operation else { throw error }
          var contention = error
          contention.isContention = true
          throw contention
        }
        var result = MutationResult()
        var after = before
        switch mutation.operation {
        case .verify: break
        case .delete:
          if before != nil { wasDeleted.append(path) }
          after = nil
          renewed.insert(path)
        case .set(let body): after = try body.map()
        case .patch(let body, let mask):
          let values = try body.map()
          var merged = before ?? MapValue()
          for field in mask { merged.set(values.value(at: field.names), at: field.names) }
          after = merged
        }
        if !mutation.transforms.isEmpty {
          var transformed = after ?? MapValue()
          for (field, transform) in mutation.transforms {
            let (value, returned) = transform.apply(
              to: transformed.value(at: field.names), at: time)
            transformed.set(value, at: field.names)
            result.transformResults.append(returned)
          }
          after = transformed
        }
        if let after {
          try Limits.checkNesting(after)
          deletedByRule.remove(path)
        }
        // Nothing throws from here on, except a check, which writes of a closure do not have.
        if !mutation.onlyVerifies { hasWrites = true }
        copied[path] = mutation.copied
        if fields.updateValue(after, forKey: path) == nil { order.append(path) }
        if let check = mutation.documentCheck { try check.run(try document(path), at: path) }
        return result
      }

      /// The document after the writes so far.
      func document(_ path: ResourcePath) throws(Status) -> StoredDocument? {
        guard let known = fields[path] else { return base.documents[path] }
        guard let known else { return nil }
        return version(of: path, try DocumentBody(encoding: known), sequence: base.sequence + 1)
      }

      /// Every document, after the writes so far.
      func documents() throws(Status) -> [StoredDocument] {
        var documents = base.documents.values.filter { fields[$0.path] == nil }
        for path in order { if let document = try document(path) { documents.append(document) } }
        return documents
      }

      private func version(
        of path: ResourcePath, _ body: DocumentBody, sequence: UInt64
      ) -> StoredDocument {
        let old = base.documents[path]
        let copied = copied[path]
        if let old, old.body == body, !renewed.contains(path), copied.map(old.has) ?? true {
          return old
        }
        return StoredDocument(
          path: path, sequence: sequence,
          createTime: copied?.createTime
            ?? (renewed.contains(path) ? time : old?.createTime ?? time),
          updateTime: copied?.updateTime ?? time, body: body)
      }

      mutating func end(in state: inout MemoryState) throws(Status) -> CommitResult {
        if let failure { throw failure }
        try enforceConstraints()
        var next = base
        for path in order {
          let old = base.documents[path]
          var new: StoredDocument?
          if let after = fields[path].flatMap(\.self) {
            let body = try DocumentBody(encoding: after)
            try Limits.check(body, at: path)
            new = version(of: path, body, sequence: next.sequence + 1)
          }
          guard new !== old else { continue }
          guard time <= .latest else { throw .commitTime(time, after: .latest) }
          next.documents[path] = new
          next.log.append(
            LoggedChange(
              sequence: next.sequence + 1,
              kind: old == nil ? .created : (new == nil ? .deleted : .updated), path: path,
              commitTime: time, endsCommit: false, before: old, after: new))
        }
        // A time of its own, even if nothing has changed.
        if hasWrites, time <= .latest { next.lastTime = time }
        if next.sequence > base.sequence { next.log[next.log.count - 1].endsCommit = true }
        state = next
        return CommitResult(
          commitTime: state.lastTime, sequence: state.sequence,
          results: results.map { path, result in
            var result = result
            result.updateTime = next.documents[path]?.updateTime
            return result
          }, cascaded: cascaded)
      }
    }

    // MARK: Reading

    /// The state after the change with this sequence.
    func asOf(_ sequence: UInt64) -> MemoryState {
      var past = self
      while past.sequence > sequence, let change = past.log.popLast() {
        past.documents[change.path] = change.before
      }
      past.lastTime = past.log.last?.commitTime ?? Instant(microseconds: 0)
      return past
    }
  }
#endif
