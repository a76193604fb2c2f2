import Counting
import Foundation
import Hearth
import Synchronization

/// Queries beside SQLite's, as ratios within one run: how many times faster than GRDB's Codable records,
/// and than JSON documents with expression indexes.
///
///     swift run -c release --package-path Benchmarks QueryFigures [books, 100000] [rounds, 7]
///
/// Times are the process's, on all its threads: what else runs on the machine does not count. With few
/// books it is a check that all three give the same answers.
///
/// Under callgrind whole calls are counted instead, in instructions of all threads, which are the same
/// on every run: `Benchmarks/instructions` holds Hearth's to their limits.
@main
struct QueryFigures {
  let books: CollectionReference
  let peers: SQLiteBooks
  let count: Int
  let rounds: Int

  /// Not async: valgrind does not survive how an async `main` leaves the first thread.
  static func main() throws {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    Task.detached {
      do { try await measure() } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    done.wait()
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  private static func measure() async throws {
    let isCounting = counting_is_watched() != 0
    let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
    let count = isCounting ? 2000 : max(1000, arguments.first ?? 100_000)
    let folder = NSTemporaryDirectory() + "hearth-queries-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let settings = FirestoreSettings()
    settings.durability = .unsafeWithoutFlushing
    settings.indexPolicy = .declared
    // As much as valgrind has room for.
    if isCounting { settings.mapSizeBytes = 1 << 30 }
    let db = try Firestore.open(at: folder + "/books.hearth", settings: settings)
    let books = db.collection("books")
    for start in stride(from: 0, to: count, by: 500) {
      let batch = db.batch()
      for index in start..<min(start + 500, count) {
        try batch.setData(from: Book(index), forDocument: books.document(Book.id(index)))
      }
      try await batch.commit()
    }
    try await db.indexes.declare(
      FirestoreIndex("books", .ascending("author")), FirestoreIndex("books", .ascending("rating")))
    try await db.indexes.waitUntilReady()
    let figures = QueryFigures(
      books: books, peers: try SQLiteBooks(folder: folder, count: count), count: count,
      rounds: arguments.dropFirst().first ?? 7)
    if isCounting {
      try await figures.instructions()
    } else {
      try await figures.run()
      try await figures.nearest()
    }
    try await db.terminate()
  }

  // MARK: Instructions

  private func instructions() async throws {
    var next = 0
    try await countCalls("get a book", 64) {
      next += 1
      return try await self.books.document(Book.id(next &* 7919 % count))
        .getDocument(as: Book.self).tags.count
    } records: {
      next += 1
      return try peers.book(Book.id(next &* 7919 % count))?.tags.count ?? 0
    } json: {
      next += 1
      return try peers.jsonBook(Book.id(next &* 7919 % count)).tags.count
    }
    func document() -> DocumentReference {
      next += 1
      return books.document(Book.id(next &* 7919 % count))
    }
    try await countCalls("get a book, Hearth, direct", 64) {
      try await document().getDocument(as: DirectBook.self).tags.count
    }
    try countReads("get a book in a read, Hearth", 64) {
      let document = document()
      return try books.firestore.read { try $0.getDocument(document, as: Book.self).tags.count }
    }
    try countReads("get a book in a read, Hearth, direct", 64) {
      let document = document()
      return try books.firestore.read {
        try $0.getDocument(document, as: DirectBook.self).tags.count
      }
    }
    let authors = count / Book.perAuthor
    func author() -> String {
      next += 1
      return Book.author(next % authors)
    }
    try await countCalls("equality, 100 books", 8) {
      try await books.whereField("author", isEqualTo: author()).getDocuments(as: Book.self).count
    } records: {
      try peers.author(author()).count
    } json: {
      try peers.jsonAuthors([author()]).count
    }
    try await countCalls("equality, 100 books, Hearth, direct", 8) {
      try await books.whereField("author", isEqualTo: author())
        .getDocuments(as: DirectBook.self).count
    }
    try await countCalls("order and limit 20", 32) {
      try await books.order(by: "rating", descending: true).limit(to: 20)
        .getDocuments(as: Book.self).count
    } records: {
      try peers.best(20).count
    } json: {
      try peers.jsonBest(20).count
    }
    try await countCalls("order and limit 20, Hearth, direct", 32) {
      try await books.order(by: "rating", descending: true).limit(to: 20)
        .getDocuments(as: DirectBook.self).count
    }
    // With two indexes and the log, on the writer's thread too: a book's part. The deletion begins
    // when the writer has done what follows a commit, so that all of this is counted.
    let group = 500
    try await countCalls("batch of 500, a book of it, Hearth", 1, parts: group) {
      let batch = books.firestore.batch()
      for index in 0..<group {
        next += 1
        try batch.setData(
          from: Book(count + next), forDocument: books.document(Book.id(count + next)))
      }
      try await batch.commit()
      try await books.document("missing").delete()
      return group
    }
  }

  /// Tells what a call takes, once it was made as often before.
  private func countCalls(
    _ name: String, _ calls: Int, parts: Int = 1, own: () async throws -> Int,
    records: () async throws -> Int, json: () async throws -> Int
  ) async throws {
    try await countCalls("\(name), Hearth", calls, parts: parts, own)
    try await countCalls("\(name), GRDB", calls, parts: parts, records)
    try await countCalls("\(name), SQLite JSON", calls, parts: parts, json)
  }

  private func countCalls(
    _ title: String, _ calls: Int, parts: Int = 1, _ work: () async throws -> Int
  ) async throws {
    for round in 0..<2 {
      if round == 1 { counting_begin() }
      for _ in 0..<calls {
        guard try await work() > 0 else { throw CocoaError(.fileReadCorruptFile) }
      }
    }
    counting_end("\(calls * parts)\t\(title)")
  }

  /// The same for a call that blocks.
  private func countReads(_ title: String, _ calls: Int, _ work: () throws -> Int) throws {
    for round in 0..<2 {
      if round == 1 { counting_begin() }
      for _ in 0..<calls {
        guard try work() > 0 else { throw CocoaError(.fileReadCorruptFile) }
      }
    }
    counting_end("\(calls)\t\(title)")
  }

  private func run() async throws {
    let middle = count / Book.perAuthor / 2
    let name = Book.author(middle)
    let author = books.whereField("author", isEqualTo: name)
    try await compare("equality, 100 returned") {
      try await author.getDocuments(as: Book.self).count
    } records: {
      try peers.author(name).count
    } json: {
      try peers.jsonAuthors([name]).count
    }
    let best = books.order(by: "rating", descending: true).limit(to: 20)
    try await compare("order by, limit 20") {
      try await best.getDocuments(as: Book.self).count
    } records: {
      try peers.best(20).count
    } json: {
      try peers.jsonBest(20).count
    }
    let pair = [name, Book.author(middle + 1)]
    let either = books.whereFilter(
      .orFilter(pair.map { Filter.whereField("author", isEqualTo: $0) }))
    try await compare("or of two") {
      try await either.getDocuments(as: Book.self).count
    } records: {
      try peers.authors(pair).count
    } json: {
      try peers.jsonAuthors(pair).count
    }
    let ten = (0..<10).map { Book.author(middle - 5 + $0) }
    let list = books.whereField("author", in: ten)
    try await compare("in of ten") {
      try await list.getDocuments(as: Book.self).count
    } records: {
      try peers.authors(ten).count
    } json: {
      try peers.jsonAuthors(ten).count
    }
    try await paging()
    let unindexed = books.whereField("numberOfPages", isEqualTo: 500)
    try await compare("unindexed filter, counted") {
      try await unindexed.count.getAggregation(source: .server).count.intValue
    } records: {
      try peers.count(pages: 500)
    } json: {
      try peers.jsonCount(pages: 500)
    }
    try await compare("all, decoded") {
      try await books.getDocuments(as: Book.self).count
    } records: {
      try peers.all().count
    } json: {
      try peers.jsonAll().count
    }
  }

  /// Ten pages of twenty, from the middle on.
  private func paging() async throws {
    try await compare("ten pages of 20 from the middle") {
      var query = books.order(by: "rating").start(at: [2.5]).limit(to: 20)
      var read = 0
      for _ in 0..<10 {
        let page = try await query.getDocuments().documents
        for document in page { read += try document.data(as: Book.self).tags.count / 2 }
        guard let last = page.last else { break }
        query = books.order(by: "rating").start(afterDocument: last).limit(to: 20)
      }
      return read
    } records: {
      var last: BookRecord?
      var read = 0
      for _ in 0..<10 {
        let page = try peers.page(from: 2.5, after: last, 20)
        read += page.count
        last = page.last
      }
      return read
    } json: {
      var last: (Double, String)?
      var read = 0
      for _ in 0..<10 {
        let page = try peers.jsonPage(from: 2.5, after: last, 20)
        read += page.count
        last = page.last.map { ($0.book.rating, $0.id) }
      }
      return read
    }
  }

  // MARK: Nearest neighbours

  /// Over vectors of 768 doubles, against how fast this machine adds up as many bytes.
  private func nearest() async throws {
    let vectors = min(count, 100_000)
    let dimensions = 768
    let db = books.firestore
    for start in stride(from: 0, to: vectors, by: 250) {
      let batch = db.batch()
      for index in start..<min(start + 250, vectors) {
        var state = UInt64(index) &+ 1
        let vector = (0..<dimensions).map { _ -> Double in
          state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
          return Double(state >> 40) / Double(1 << 24) - 0.5
        }
        batch.setData(
          ["v": VectorValue(vector)], forDocument: db.document("vectors/\(1_000_000 + index)"))
      }
      try await batch.commit()
    }
    let target = (0..<dimensions).map { Double($0 % 7) / 7 - 0.5 }
    let bytes = vectors * dimensions * 8
    let memory = [Double](repeating: 1.5, count: vectors * dimensions)
    for (name, measure) in [
      ("euclidean", DistanceMeasure.euclidean), ("cosine", .cosine), ("dot product", .dotProduct),
    ] {
      let query = db.collection("vectors").findNearest(
        vectorField: "v", queryVector: VectorValue(target), limit: 10, distanceMeasure: measure)
      var found: [Double] = []
      var added: [Double] = []
      for _ in 0..<rounds {
        found.append(try await seconds(1) { try await query.getDocuments().documents.count })
        added.append(try await seconds(1) { Int(sum(memory)) })
      }
      let (own, floor) = (median(found), median(added))
      print(
        """
        nearest\t\(name), \(vectors) × \(dimensions) doubles\t\
        \(text(own * 1e3)) ms\t\(text(Double(bytes) / own / 1e9)) GB/s\t\
        summing the same bytes in memory \(text(Double(bytes) / floor / 1e9)) GB/s\t\
        \(text(floor / own)) of it
        """)
    }
  }

  @inline(never)
  private func sum(_ memory: [Double]) -> Double {
    memory.withUnsafeBytes { bytes in
      var sums = (SIMD8<Double>(), SIMD8<Double>(), SIMD8<Double>(), SIMD8<Double>())
      for offset in stride(from: 0, to: bytes.count - 255, by: 256) {
        sums.0 += bytes.loadUnaligned(fromByteOffset: offset, as: SIMD8<Double>.self)
        sums.1 += bytes.loadUnaligned(fromByteOffset: offset + 64, as: SIMD8<Double>.self)
        sums.2 += bytes.loadUnaligned(fromByteOffset: offset + 128, as: SIMD8<Double>.self)
        sums.3 += bytes.loadUnaligned(fromByteOffset: offset + 192, as: SIMD8<Double>.self)
      }
      return (sums.0 + sums.1 + sums.2 + sums.3).sum()
    }
  }

  // MARK: Measuring

  private func compare(
    _ name: String, _ own: () async throws -> Int, records: () async throws -> Int,
    json: () async throws -> Int
  ) async throws {
    let (first, second, third) = (try await own(), try await records(), try await json())
    precondition(first == second && second == third, "\(name): \(first), \(second), \(third)")
    var times: (own: [Double], records: [Double], json: [Double]) = ([], [], [])
    // Short ones many times: a clock is coarse.
    let probe = try await seconds(1, own)
    let repeats = max(1, Int(0.01 / max(probe, 1e-6)))
    for _ in 0..<rounds {
      times.own.append(try await seconds(repeats, own))
      times.records.append(try await seconds(repeats > 10 ? repeats / 10 : 1, records))
      times.json.append(try await seconds(repeats > 10 ? repeats / 10 : 1, json))
    }
    let (mine, theirs, others) = (median(times.own), median(times.records), median(times.json))
    print(
      """
      query\t\(name), \(first) of \(count)\t\(text(mine * 1e6)) µs\t\
      records \(text(theirs * 1e6)) µs\t\(text(theirs / mine))x\t\
      JSON \(text(others * 1e6)) µs\t\(text(others / mine))x
      """)
  }

  private func seconds(_ repeats: Int, _ body: () async throws -> Int) async throws -> Double {
    let start = processTime
    for _ in 0..<repeats { _ = try await body() }
    return (processTime - start) / Double(repeats)
  }

  private var processTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }

  private func text(_ number: Double) -> String { String(format: "%.2f", number) }
}
