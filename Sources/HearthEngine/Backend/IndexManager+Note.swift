extension IndexManager {
  /// Reports to the advisor what an answer used, what it lacked, and what it cost.
  func note(_ trace: QueryTrace) {
    for join in trace.joins { note(join.trace) }
    if case .entries(let branches)? = trace.plan?.source {
      for branch in branches {
        advisor.note(use: branch.index)
        for joinedIndex in branch.joined { advisor.note(use: joinedIndex.index) }
      }
    }
    let touched = trace.touched.documents + trace.touched.entries
    for index in trace.missing {
      advisor.note(missing: index, touched: touched, returned: trace.found)
    }
  }
}
