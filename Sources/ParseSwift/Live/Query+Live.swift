import Hearth

extension Query {
  /// The results, and again after each commit that changes them or the objects that they include.
  ///
  ///     for try await books in Book.query().include("isbn").results { print(books.count) }
  ///
  /// Follows the data: orders, limits, relations and included objects, whoever writes them. Cancelling
  /// the task ends it. Throws `ParseError`.
  public var results: AsyncThrowingStream<[T], any Error> {
    stream { firestore, yield in
      let (query, paths) = try including(in: firestore)
      for try await snapshot in query.snapshots {
        yield(try ObjectReading.objects(snapshot.documents, as: T.self, including: paths))
      }
    }
  }

  /// The changes of the results after now.
  ///
  ///     for try await event in Author.queryRelations("authors", parent: book).subscribe() {
  ///       if case .entered(let author) = event { print(author.name ?? "") }
  ///     }
  ///
  /// Otherwise as `results`.
  public func subscribe() -> AsyncThrowingStream<LiveQueryEvent<T>, any Error> {
    stream { firestore, yield in
      let (query, paths) = try including(in: firestore)
      var before: [String: T]?
      for try await snapshot in query.snapshots {
        let objects = try ObjectReading.objects(
          snapshot.documents, as: T.self, including: paths)
        let after = Dictionary(objects.map { ($0.objectId ?? "", $0) }) { first, _ in first }
        if let before {
          for event in try await Self.events(from: before, to: objects, after, in: firestore) {
            yield(event)
          }
        }
        before = after
      }
    }
  }

  private static func events(
    from before: [String: T], to objects: [T], _ after: [String: T], in firestore: Firestore
  ) async throws -> [LiveQueryEvent<T>] {
    var events: [LiveQueryEvent<T>] = []
    let gone = before.filter { after[$0.key] == nil }.sorted { $0.key < $1.key }
    if !gone.isEmpty {
      let documents = try await firestore.getAll(
        gone.map { try ObjectGraph.reference(T.self, $0.key, in: firestore) })
      for (object, document) in zip(gone.map(\.value), documents) {
        events.append(document.exists ? .left(object) : .deleted(object))
      }
    }
    for object in objects {
      guard let old = before[object.objectId ?? ""] else {
        events.append(object.createdAt == object.updatedAt ? .created(object) : .entered(object))
        continue
      }
      if old != object { events.append(.updated(object)) }
    }
    return events
  }

  private func stream<Element: Sendable>(
    _ body: @escaping @Sendable (Firestore, (Element) -> Void) async throws -> Void
  ) -> AsyncThrowingStream<Element, any Error> {
    let firestore = Result { () throws(ParseError) in try ParseSwift.firestore }
    return AsyncThrowingStream { continuation in
      let task = Task {
        do {
          try await body(firestore.get()) { continuation.yield($0) }
          continuation.finish()
        } catch {
          continuation.finish(throwing: ParseError(error))
        }
      }
      continuation.onTermination = { _ in task.cancel() }
    }
  }
}
