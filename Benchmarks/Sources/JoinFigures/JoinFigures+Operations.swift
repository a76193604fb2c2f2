import Foundation

extension JoinFigures {
  /// Typed operations beside GRDB by hand, on the same library.
  func operations() async throws {
    guard only == nil || only?.contains("Operation") == true else { return }
    let operations = try OperationLibrary(hearth.db)
    try await compare("Operation: book by key", 400, { $0 &* 7919 % library.books }) {
      try await operations.book($0)
    } grdb: {
      try sqlite.book(withKey: $0)
    }
    try await compare("Operation: page of 20 books", 100, title) {
      try await operations.page(from: $0)
    } grdb: {
      try sqlite.page(from: $0)
    }
    let fastest = try fastestReviews()
    try await compare("Operation: page of 20 books with 3 reviews each", 50, title) {
      try await operations.pageWithReviews(from: $0)
    } grdb: {
      try sqlite.pageWithReviews(from: $0, fastest)
    }
    try await compare("Operation: books with a review like that", 4, month) {
      try await operations.praised(in: $0)
    } grdb: {
      try sqlite.praised(in: $0)
    }
    try await compare("Operation: count and sum by genre, one author", 200, author) {
      try await operations.totalsByGenre(of: $0)
    } grdb: {
      try sqlite.totalsByGenre(of: $0)
    }
    for tasks in [1, 64] {
      let name = "Operation: update, \(tasks) task\(tasks == 1 ? "" : "s")"
      guard wants(name) else { continue }
      let count = tasks == 1 ? 200 : 1920
      var times: (own: [Double], their: [Double]) = ([], [])
      for round in 0...rounds {
        let authors = (0..<count).map { ($0 &* 31 &+ round &* 7) % library.authors }
        let own = try await insert(tasks, authors) {
          try await operations.rename($0, to: "operation \(round)")
        }
        let their = try await insert(tasks, authors) {
          try await sqlite.rename($0, to: "operation \(round)")
        }
        guard round > 0 else { continue }
        times.own.append(own)
        times.their.append(their)
      }
      show(name, times.own, times.their)
    }
  }
}
