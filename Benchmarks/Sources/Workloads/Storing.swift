import Foundation
import Hearth
import Synchronization

extension Workload {
  static let writing = [
    Workload(.writing, "A book is set", repetitions: 16) { size in
      let shelf = try await Shelf(size)
      return {
        var digest = Digest()
        for number in 0..<16 {
          try await shelf.document(number).setData(committing: Book(number))
          digest.add(number)
        }
        return digest
      }
    },
    Workload(.writing, "Books are set in a batch", repetitions: 256) { size in
      let shelf = try await Shelf(size)
      return {
        let batch = shelf.database.batch()
        for number in 0..<256 {
          try batch.setData(from: Book(number), forDocument: shelf.document(number))
        }
        try await batch.commit()
        var digest = Digest()
        digest.add(try await shelf.document(255).getDocument(as: Book.self))
        return digest
      }
    },
    Workload(.writing, "An indexed field of books is updated in a batch", repetitions: 256) {
      size in
      let shelf = try await Shelf(size)
      let round = Atomic<Int>(0)
      return {
        let rating = Double(round.add(1, ordering: .relaxed).newValue % 5)
        let batch = shelf.database.batch()
        for number in 0..<256 {
          batch.updateData(["rating": rating], forDocument: shelf.document(number))
        }
        try await batch.commit()
        var digest = Digest()
        digest.add(
          try await shelf.books.whereField("rating", isEqualTo: rating).count
            .getAggregation(source: .server).count.intValue >= 256 ? 1 : 0)
        return digest
      }
    },
    Workload(.writing, "Books are transferred in a transaction", repetitions: 1) { size in
      let shelf = try await Shelf(size)
      return {
        let pages = try await shelf.database.runTransaction { transaction, _ -> Any? in
          guard let one = try? transaction.getDocument(shelf.document(1)),
            let other = try? transaction.getDocument(shelf.document(2))
          else { return nil }
          let sum = [one, other].compactMap { $0.get("numberOfPages") as? Int }.reduce(0, +)
          transaction.updateData(["numberOfPages": sum - 1], forDocument: shelf.document(1))
          transaction.updateData(["numberOfPages": 1], forDocument: shelf.document(2))
          return sum
        }
        var digest = Digest()
        digest.add(pages as? Int ?? -1)
        return digest
      }
    },
  ]

  static let query = [
    Workload(.query, "A book is got by its id", repetitions: 64) { size in
      let shelf = try await Shelf(size)
      return {
        var digest = Digest()
        for number in 0..<64 {
          let document = shelf.document(number &* 7919 % size.books)
          digest.add(try await document.getDocument(as: Book.self))
        }
        return digest
      }
    },
    Workload(.query, "An author's hundred books are got") { size in
      let shelf = try await Shelf(size)
      return {
        var digest = Digest()
        digest.add(
          try await shelf.books.whereField("author", isEqualTo: Book.author(1))
            .getDocuments(as: Book.self))
        return digest
      }
    },
    Workload(.query, "The twenty best rated books are got") { size in
      let shelf = try await Shelf(size)
      return {
        var digest = Digest()
        digest.add(
          try await shelf.books.order(by: "rating", descending: true).limit(to: 20)
            .getDocuments(as: Book.self))
        return digest
      }
    },
    Workload(.query, "Books are counted by a field without an index") { size in
      let shelf = try await Shelf(size)
      return {
        var digest = Digest()
        digest.add(
          try await shelf.books.whereField("isAvailable", isEqualTo: false).count
            .getAggregation(source: .server).count.intValue)
        return digest
      }
    },
    Workload(.query, "The ratings of an author's books are averaged") { size in
      let shelf = try await Shelf(size)
      return {
        let average = try await shelf.books.whereField("author", isEqualTo: Book.author(1))
          .aggregate([AggregateField.average("rating")]).getAggregation(source: .server)
          .get(AggregateField.average("rating"))
        var digest = Digest()
        digest.add(Int(((average as? Double) ?? -1) * 1e6))
        return digest
      }
    },
  ]

  static let listening = [
    Workload(.listening, "One of a thousand listeners is told of a change") { size in
      let shelf = try await Shelf(size)
      let told = Told()
      let listeners = Listeners(
        (0..<1000).map { number in
          shelf.books.whereField("author", isEqualTo: "Author \(number)")
            .addSnapshotListener { snapshot, _ in told.add(snapshot?.count ?? 0) }
        })
      await told.wait(for: 1000)
      let round = Atomic<Int>(0)
      return {
        let number = round.add(1, ordering: .relaxed).newValue % 1000
        let before = told.count
        try await shelf.document(0).updateData(["author": "Author \(number)"])
        // Who had the book before, and who has it now.
        await told.wait(for: before + (before == 1000 ? 1 : 2))
        var digest = Digest()
        digest.add(listeners.all.count)
        return digest
      }
    }
  ]

  static let opening = [
    Workload(.opening, "A database is opened, and a book read") { size in
      let shelf = try await Shelf(size)
      try await shelf.database.terminate()
      return {
        let database = try Firestore.open(at: shelf.folder + "/books.hearth")
        var digest = Digest()
        digest.add(
          try await database.document("books/\(Book.id(7))").getDocument(as: Book.self))
        try await database.terminate()
        return digest
      }
    }
  ]

  static let footprint = [
    Workload(.footprint, "Books are stored in a new file") { size in
      {
        let shelf = try await Shelf(size)
        try await shelf.database.terminate()
        let attributes = try FileManager.default.attributesOfItem(
          atPath: shelf.folder + "/books.hearth")
        var digest = Digest()
        // To the hundred bytes: batches may be grouped one way or the other.
        digest.add((attributes[.size] as? Int ?? 0) / size.books > 300 ? 1 : 0)
        return digest
      }
    }
  ]
}

private final class Listeners: Sendable {
  private let removals: Mutex<[any ListenerRegistration]>
  let all: Range<Int>

  init(_ listeners: sending [any ListenerRegistration]) {
    all = 0..<listeners.count
    removals = Mutex(listeners)
  }

  deinit { removals.withLock { for listener in $0 { listener.remove() } } }
}

/// Counts calls, and lets one wait for a number of them.
private final class Told: Sendable {
  private struct State {
    var count = 0
    var waiting: (count: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  private let state = Mutex(State())

  var count: Int { state.withLock(\.count) }

  func add(_ documents: Int) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.count += 1
      guard let waiting = state.waiting, state.count >= waiting.count else { return nil }
      state.waiting = nil
      return waiting.continuation
    }
    continuation?.resume()
  }

  func wait(for count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.count >= count { return true }
        state.waiting = (count, continuation)
        return false
      }
      if isThere { continuation.resume() }
    }
  }
}
