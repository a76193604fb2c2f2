/// The documents and results that a request has read: it is refused with `aborted` if any of them
/// has changed when it is planned.
struct ReadSet: Sendable {
  /// Update times of the versions read; nil for a document that did not exist.
  var documents: [ResourcePath: Instant?] = [:]
  var results: [ObservedAnswer] = []
  /// The commit time that the request was given.
  var time: Instant?
  /// If set, nothing at all may have been written since.
  var state: StoreState?

  /// Nothing was read.
  var isEmpty: Bool { documents.isEmpty && results.isEmpty }

  /// Records an answer. Throws `aborted` if one of its documents was read before and differs.
  mutating func note(
    _ request: ReadRequest, _ answer: ReadAnswer, at sequence: UInt64?
  ) throws(Status) {
    switch (request, answer) {
    case (.documents(let paths), .documents(let found)): try note(zip(paths, found))
    case (_, .results(let found)):
      results.append(ObservedAnswer(request, answer, at: sequence))
      try note(found.lazy.map { ($0.path, $0) })
    default: results.append(ObservedAnswer(request, answer, at: sequence))
    }
  }

  /// Records the versions that were read. Throws `aborted` if one of them was read before and
  /// differs.
  mutating func note(_ found: some Sequence<(ResourcePath, StoredDocument?)>) throws(Status) {
    for (path, document) in found {
      if let seen = documents[path], seen != document?.updateTime {
        throw .contention("Document version changed between two reads.")
      }
      documents[path] = .some(document?.updateTime)
    }
  }
}

/// The answer to a request of `results`, `values` or `groups`.
struct ObservedAnswer: Sendable {
  let request: ReadRequest
  /// The sequence of the state that answered, if that was a committed one.
  let sequence: UInt64?
  private let seen: Seen

  private enum Seen: Equatable {
    case versions([Version])
    case values([Value])
    case groups([QueryGroup])
    case other

    init(_ answer: ReadAnswer) {
      self =
        switch answer {
        case .results(let found):
          .versions(found.map { Version(path: $0.path, updateTime: $0.updateTime) })
        case .values(let values): .values(values)
        case .groups(let groups): .groups(groups)
        default: .other
        }
    }
  }

  private struct Version: Equatable {
    let path: ResourcePath
    let updateTime: Instant
  }

  /// - Parameter answer: With whole documents: fields that a projection leaves out may change as well.
  init(_ request: ReadRequest, _ answer: ReadAnswer, at sequence: UInt64? = nil) {
    self.request = request
    self.sequence = sequence
    seen = Seen(answer)
  }

  /// Whether the request is answered with the same: no phantoms, and no version that was not read.
  func holds(for answer: ReadAnswer) -> Bool {
    if case .other = seen { return false }
    return seen == Seen(answer)
  }
}
