/// The result of a kind of target, updated from changes alone as far as they show it.
///
///     LiveDocument │ LimitWindow │ LiveAggregates │ LiveJoin │ LiveSearch
protocol LiveResult: AnyObject {
  /// The next request for what is not known; nil if everything is.
  var request: ReadRequest? { get }
  /// Takes the answer to `request`.
  func hold(_ fetched: ReadAnswer) throws
  /// All of it has to be requested.
  func reset()
  func apply(_ updates: [DocumentUpdate]) throws -> LiveChange

  // The parts of an event.
  var list: ResultList { get }
  var values: [Value]? { get }
  var included: IncludedDocuments? { get }

  /// How many documents are held.
  var heldCount: Int { get }
  /// For the result in an earlier state; nil if that is not kept.
  var pastRequest: ReadRequest? { get }
  /// The answer to `pastRequest`.
  func list(of fetched: ReadAnswer) throws -> ResultList

  /// The window of the query; nil for a document and for a search.
  var window: LimitWindow? { get }
  /// With the windows and paths of what is included.
  var join: LiveJoin? { get }
  /// The query whose conditions find it; nil for a document.
  var watchedQuery: EffectiveQuery? { get }
  /// The document that finds it; nil for a query.
  var watchedPath: ResourcePath? { get }
  /// A change may show only a part of its effects. Constant.
  var canBeIncomplete: Bool { get }
  /// Whether it changes when time passes. Constant.
  var followsTime: Bool { get }
  /// Moves the time forward.
  func advance(to now: Instant)
}

/// The effect of changes on a result.
enum LiveChange {
  /// If there is a `request` now, not all changes are known.
  case changed(ResultChanges)
  case changedValues
  /// The result before shows whether it has changed.
  case compared
  /// Too little is known: run the query again.
  case mustLoad
}

extension LiveResult {
  var values: [Value]? { nil }
  var included: IncludedDocuments? { nil }
  var pastRequest: ReadRequest? { nil }
  func list(of fetched: ReadAnswer) throws -> ResultList { throw Status.otherAnswer }
  var window: LimitWindow? { nil }
  var join: LiveJoin? { nil }
  var watchedQuery: EffectiveQuery? { window?.query }
  var watchedPath: ResourcePath? { nil }
  var canBeIncomplete: Bool { window.map { !$0.semiJoins.isEmpty || $0.isTimed } ?? false }
  var followsTime: Bool { window?.query.filters.hasRelativeTimes(inSemiJoins: true) ?? false }
  func advance(to now: Instant) { window?.advance(to: now) }
}

/// One document.
final class LiveDocument: LiveResult {
  private(set) var list = ResultList()
  private let path: ResourcePath
  private var isKnown = false

  init(_ path: ResourcePath) { self.path = path }

  var request: ReadRequest? { isKnown ? nil : pastRequest }
  var pastRequest: ReadRequest? { .documents(at: [path]) }
  var watchedPath: ResourcePath? { path }
  var heldCount: Int { list.count }

  func hold(_ fetched: ReadAnswer) throws {
    list = try list(of: fetched)
    isKnown = true
  }

  func list(of fetched: ReadAnswer) throws -> ResultList {
    ResultList(document: try fetched.documents.first ?? nil)
  }

  func reset() { isKnown = false }

  func apply(_ updates: [DocumentUpdate]) -> LiveChange {
    guard let update = updates.last else { return .changed(.none) }
    let before = list
    list = ResultList(document: update.new)
    return .changed(.several(before.changes(to: list)))
  }
}
