/// A document that may become a result. Borrowed: valid as long as the transaction.
struct Candidate {
  var entry: StoredEntry
  /// Its number among the matching documents if a scan reads them in name order; 0 otherwise.
  var ordinal: Int
  /// The values of the query's order fields.
  var keys: SortKeys
}
