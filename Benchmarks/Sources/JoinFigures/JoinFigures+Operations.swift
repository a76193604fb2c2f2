import FirebaseDataConnect
import Foundation
import GRDB

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
    try await compare("Operation: count and sum by genre", 1, { _ in }) { _ in
      try await operations.totalsByGenre()
    } grdb: { _ in
      try sqlite.totalsByGenre()
    }
    try await compare("Operation: count and sum by genre, one author", 200, author) {
      try await operations.totalsByGenre(of: $0)
    } grdb: {
      try sqlite.totalsByGenre(of: $0)
    }
    try await mutations("update") {
      try await operations.rename($0, to: $1)
    } grdb: {
      try await sqlite.rename($0, to: $1)
    }
    try sqlite.makeNotes()
    try await mutations("insert") {
      try await operations.addNote($1, of: $0)
    } grdb: {
      try await sqlite.addNote($1, of: $0)
    }
  }

  /// One mutation for each of many authors, from 1 task and from 64, with another text in each round and
  /// run: a mutation that changes nothing writes nothing.
  private func mutations(
    _ name: String, hearth: @escaping @Sendable (Int, String) async throws -> Void,
    grdb: @escaping @Sendable (Int, String) async throws -> Void
  ) async throws {
    let run = UInt32.random(in: 0 ... .max)
    for tasks in [1, 64] {
      let name = "Operation: \(name), \(tasks) task\(tasks == 1 ? "" : "s")"
      guard wants(name) else { continue }
      let count = tasks == 1 ? 200 : 1920
      var times: (own: [Double], their: [Double]) = ([], [])
      for round in 0...rounds {
        let authors = (0..<count).map { ($0 &* 31 &+ round &* 7) % library.authors }
        let text = "operation \(run) \(round)"
        let own =
          side == "grdb" ? 0 : try await insert(tasks, authors) { try await hearth($0, text) }
        let their =
          side == "hearth" ? 0 : try await insert(tasks, authors) { try await grdb($0, text) }
        guard round > 0 else { continue }
        times.own.append(own)
        times.their.append(their)
      }
      show(name, times.own, times.their)
    }
  }

  /// The time from the beginning of a mutation of one author until a subscriber to this author has the
  /// result, while many others are subscribed to others.
  func operationNews() async throws {
    let name = "Operation: news of a row"
    guard wants(name) else { return }
    let operations = try OperationLibrary(hearth.db)
    let their = side == "hearth" ? [1] : try await grdbNews()
    for count in [1, 1000, 100_000] {
      var cancellables: [FirebaseDataConnect.AnyCancellable] = []
      for index in 1..<max(1, count) {
        cancellables.append(
          try await operations.author("other \(index)").subscribe().sink { _ in })
      }
      let author = operations.author(ID.author(1))
      var results = try await author.subscribe().makeAsyncIterator()
      _ = await results.next()
      var own: [Double] = []
      for round in 0...rounds {
        var times: [Double] = []
        for change in 0..<50 {
          let name = "news \(count) \(round) \(change)"
          let begin = Machine.nanoseconds
          try await operations.rename(1, to: name)
          while let result = await results.next() {
            if try result.get().data.author?.name == name { break }
          }
          times.append(Machine.nanoseconds - begin)
        }
        if round > 0 { own.append(times.median) }
      }
      show("\(name), \(count) subscriptions", own, their)
      for cancellable in cancellables { cancellable.cancel() }
    }
  }

  private func grdbNews() async throws -> [Double] {
    let (names, continuation) = AsyncStream.makeStream(of: String.self)
    let observation = ValueObservation.tracking { db in
      try AuthorRecord.fetchOne(db, key: 1)?.name ?? ""
    }
    let cancellable = observation.start(
      in: sqlite.pool, scheduling: .async(onQueue: DispatchQueue(label: "news"))
    ) {
      fatalError("\($0)")
    } onChange: {
      continuation.yield($0)
    }
    defer { cancellable.cancel() }
    var found = names.makeAsyncIterator()
    var medians: [Double] = []
    for round in 0...rounds {
      var times: [Double] = []
      for change in 0..<50 {
        let name = "news \(round) \(change)"
        let begin = Machine.nanoseconds
        try await sqlite.rename(1, to: name)
        while let next = await found.next(), next != name {}
        times.append(Machine.nanoseconds - begin)
      }
      if round > 0 { medians.append(times.median) }
    }
    return medians
  }
}
