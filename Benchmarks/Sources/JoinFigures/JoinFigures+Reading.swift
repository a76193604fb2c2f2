import Foundation

extension JoinFigures {
  func title(_ number: Int) -> String {
    var numbers = Numbers(6, number)
    return library.vocabulary.words[numbers.below(Vocabulary.count)]
  }

  func author(_ number: Int) -> Int {
    // One with books.
    library.book(number &* 7919 % library.books).author
  }

  func month(_ number: Int) -> Int { number % Library.months }

  func reading() async throws {
    try await compare("page of 20 books with authors", 100, title) {
      try await hearth.pageWithAuthors(from: $0)
    } grdb: {
      try sqlite.pageWithAuthors(from: $0)
    }
    try await compare("books of an author", 200, author) {
      try await hearth.books(of: $0)
    } grdb: {
      try sqlite.books(of: $0)
    }
    let name = "page of 20 books with 3 reviews each"
    if wants(name) {
      let fastest = try fastestReviews()
      print("note\t\(name)\tGRDB: \(fastest)")
      try await compare(name, 50, title) {
        try await hearth.pageWithReviews(from: $0)
      } grdb: {
        try sqlite.pageWithReviews(from: $0, fastest)
      }
      // As GRDB's documentation does it.
      try await compare("\(name), association", 50, title) {
        try await hearth.pageWithReviews(from: $0)
      } grdb: {
        try sqlite.pageWithReviews(from: $0, .association)
      }
    }
    let parse = ParseLibrary(hearth)
    try await compare("Parse: page of 20 books with authors", 100, title) {
      try parse.pageWithAuthors(from: $0)
    } grdb: {
      try sqlite.pageWithAuthors(from: $0)
    }
    try await compare("Parse: books of an author", 200, author) {
      try parse.books(of: $0)
    } grdb: {
      try sqlite.books(of: $0)
    }
    try await compare("Parse: books of an author, counted", 200, author) {
      try parse.count(of: $0)
    } grdb: {
      try sqlite.count(of: $0)
    }
    try await compare("count and sum by genre", 1, { _ in }) { _ in
      try await hearth.totalsByGenre()
    } grdb: { _ in
      try sqlite.totalsByGenre()
    }
    try await compare("count and sum by genre, one author", 200, author) {
      try await hearth.totalsByGenre(of: $0)
    } grdb: {
      try sqlite.totalsByGenre(of: $0)
    }
    try await compare("books with a review like that", 4, month) {
      try await hearth.praised(in: $0)
    } grdb: {
      try sqlite.praised(in: $0)
    }
    try await compare("books with a review like that, counted", 10, month) {
      try await hearth.praisedCount(in: $0)
    } grdb: {
      try sqlite.praisedCount(in: $0)
    }
    try await compare("books with a review like that, first 20 by title", 10, month) {
      try await hearth.praisedPage(in: $0)
    } grdb: {
      try sqlite.praisedPage(in: $0)
    }
  }

  /// GRDB's fastest way for this library.
  func fastestReviews() throws -> SQLiteLibrary.ReviewStrategy {
    var best = (strategy: SQLiteLibrary.ReviewStrategy.association, time: Double.infinity)
    for strategy in SQLiteLibrary.ReviewStrategy.allCases {
      for turn in 0..<2 {
        let begin = Machine.nanoseconds
        for number in 0..<50 { _ = try sqlite.pageWithReviews(from: title(number), strategy) }
        let time = Machine.nanoseconds - begin
        if turn > 0, time < best.time { best = (strategy, time) }
      }
    }
    return best.strategy
  }
}
