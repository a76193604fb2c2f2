/// A class whose objects have the scores of a search for words.
///
///     struct Page: ParseObject, ParseQueryScorable {
///       var objectId: String?
///       var createdAt: Date?
///       var updatedAt: Date?
///       var ACL: ParseACL?
///       var originalData: Data?
///       var score: Double?
///
///       var text: String?
///     }
///
///     let pages = try Page.query(matchesText(key: "text", text: "sand")).sortByTextScore().find()
///     for page in pages { print(page.score ?? 0, page.text ?? "") }
public protocol ParseQueryScorable {
  /// The score of a result of a query with `matchesText(key:text:)`, which a higher rank has more
  /// of. Nil in all other results, and in those of live queries. Not stored by a save of the
  /// result.
  var score: Double? { get }
}

extension Query where T: ParseQueryScorable {
  /// The query itself: results of a search are in the order of their scores.
  public func sortByTextScore() -> Query<T> { self }
}
