import Foundation
import GRDB
import Hearth

extension JoinFigures {
  /// Listeners to pages of books with their authors. The name of one author changes; measured is the time
  /// from the beginning of its durable write until the listener of its page has the decoded page.
  func listening() async throws {
    for count in [1, 200] {
      let name = "news of an included author, \(count) listener\(count == 1 ? "" : "s")"
      guard wants(name) else { continue }
      // Pages that share no author, and begin after different titles.
      let pages = try await pages(count)
      let own = try await hearthTimes(pages)
      var fastest: Times?
      for isConstant in [true, false] {
        let their = try await grdbTimes(pages, isConstant: isConstant)
        if their.wall.median < fastest?.wall.median ?? .infinity { fastest = their }
      }
      guard let fastest else { continue }
      show(name, own.wall, fastest.wall)
      show("\(name), processor time", own.cpu, fastest.cpu)
    }
  }

  private struct Page {
    var title: String
    var author: Int
  }

  /// Changes of each round.
  private static let changes = 10

  /// Each with an author that is on no other page.
  private func pages(_ count: Int) async throws -> [Page] {
    var pages: [Page] = []
    var lists: [[String]] = []
    var uses: [String: Int] = [:]
    var titles: Set<String> = []
    for number in 0..<count {
      var title = ""
      repeat {
        title = library.book((number + titles.count) &* 6151 % library.books).title
      } while !titles.insert(title).inserted
      let documents = try await hearth.page(from: title).getDocuments().documents
      let authors = documents.compactMap { $0.first("author")?.documentID }
      for author in Set(authors) { uses[author, default: 0] += 1 }
      lists.append(authors)
      pages.append(Page(title: title, author: 0))
    }
    for index in pages.indices {
      let own = lists[index].first { uses[$0] == 1 } ?? lists[index].first ?? ""
      pages[index].author = (Int(own.dropFirst()) ?? 10_000_000) - 10_000_000
    }
    return pages
  }

  private struct Times {
    var wall: [Double] = []
    var cpu: [Double] = []
  }

  private func hearthTimes(_ pages: [Page]) async throws -> Times {
    if side == "grdb" { return Times() }
    let deliveries = Bell()
    let seen = pages.map { _ in Expected() }
    var registrations: [any ListenerRegistration] = []
    for (page, expected) in zip(pages, seen) {
      registrations.append(
        hearth.page(from: page.title).addSnapshotListener { snapshot, _ in
          guard let snapshot, let found = try? HearthLibrary.decoded(snapshot) else { return }
          expected.see(found.map(\.1.name))
          deliveries.ring()
        })
    }
    await deliveries.wait(for: pages.count)
    defer { for registration in registrations { registration.remove() } }
    return try await changes(pages, seen, deliveries, 1) { try await hearth.rename($0, to: $1) }
  }

  private func grdbTimes(_ pages: [Page], isConstant: Bool) async throws -> Times {
    if side == "hearth" { return Times(wall: [0], cpu: [0]) }
    let deliveries = Bell()
    let seen = pages.map { _ in Expected() }
    let queue = DispatchQueue(label: "pages")
    var cancellables: [AnyDatabaseCancellable] = []
    for (page, expected) in zip(pages, seen) {
      let title = page.title
      let fetch: @Sendable (GRDB.Database) throws -> [BookWithAuthor] = { db in
        try SQLiteLibrary.page(from: title).fetchAll(db)
      }
      let observation =
        isConstant
        ? ValueObservation.trackingConstantRegion(fetch) : ValueObservation.tracking(fetch)
      cancellables.append(
        observation.start(in: sqlite.pool, scheduling: .async(onQueue: queue)) {
          fatalError("\($0)")
        } onChange: { found in
          expected.see(found.map(\.author.name))
          deliveries.ring()
        })
    }
    await deliveries.wait(for: pages.count)
    // Observers may receive their first value twice.
    try await Task.sleep(for: .milliseconds(500))
    defer { for cancellable in cancellables { cancellable.cancel() } }
    return try await changes(pages, seen, deliveries, pages.count) {
      try await sqlite.rename($0, to: $1)
    }
  }

  /// Medians of each round. The next change is made when the one before has led to all deliveries: one
  /// to Hearth's listeners, and one to each of GRDB's.
  private func changes(
    _ pages: [Page], _ seen: [Expected], _ deliveries: Bell, _ deliveriesOfChange: Int,
    _ rename: (Int, String) async throws -> Void
  ) async throws -> Times {
    var times = Times()
    var number = 0
    for round in 0...rounds {
      var wall: [Double] = []
      let cpu = Machine.cpuNanoseconds
      for _ in 0..<Self.changes {
        // A page of the first, the middle and the last ones, so that no order of delivery is favoured.
        number += 1
        let index = number &* 37 % pages.count
        let bell = Bell()
        let name = "Name \(UInt64.random(in: 0 ... .max))"
        seen[index].set(name, bell)
        let before = deliveries.count
        let begin = Machine.nanoseconds
        try await rename(pages[index].author, name)
        await bell.wait(for: 1)
        wall.append(Machine.nanoseconds - begin)
        await deliveries.wait(for: before + deliveriesOfChange)
      }
      guard round > 0 else { continue }
      times.wall.append(wall.median)
      times.cpu.append((Machine.cpuNanoseconds - cpu) / Double(Self.changes))
    }
    return times
  }
}
