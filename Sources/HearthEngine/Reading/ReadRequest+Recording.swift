/// How transactions record what they read.
extension ReadRequest {
  /// The request whose answer is recorded: with whole documents, as fields that a projection leaves out may change as
  /// well.
  ///
  /// Throws for a search, which reads the newest committed state, and for requests that no transaction has.
  func recorded() throws(Status) -> ReadRequest {
    switch self {
    case .documents: return self
    case .values(_, over: let query):
      try query.question.checkOtherStates()
      return self
    case .groups(let grouped):
      try grouped.query.question.checkOtherStates()
      return self
    case .results(var query, let fields):
      try query.question.checkOtherStates()
      query.projection = []
      return .results(query, requiring: fields)
    default: throw Status(.unimplemented, "A transaction does not read this.")
    }
  }

  /// The answer to this request, from that to `recorded`.
  func answer(fromWhole answer: ReadAnswer) throws -> ReadAnswer {
    guard case .results(let query, _) = self, let projection = Projection(query.projection),
      case .results(let found) = answer
    else { return answer }
    return .results(try found.map { try projection.applied(to: $0) })
  }
}
