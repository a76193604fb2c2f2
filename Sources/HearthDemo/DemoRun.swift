import Foundation
import Hearth
import HearthTerminal

/// The demo, step by step: import, read back, listen, reopen. Every step checks what it shows.
struct DemoRun<Record: DemoRecord> {
  private let source: StanzaSource
  private let path: String
  private let screen: DemoScreen
  private var figures = DemoFigures()
  private var totalStanzas = 0
  /// Covers all records, in any order: shows that none is lost, changed or duplicated.
  private var fingerprint = Fingerprint()

  init(_ source: StanzaSource, at path: String, on screen: DemoScreen) {
    self.source = source
    self.path = path
    self.screen = screen
    figures.collection = Record.collection
  }

  mutating func run() async throws -> DemoFigures {
    try await look()
    let db = try Firestore.open(at: path)
    try await importAll(db)
    try await readBack(db)
    let changed = try await listen(db)
    try await db.terminate()
    try await reopen(expecting: changed)
    return figures
  }

  // MARK: Steps

  private mutating func look() async throws {
    try screen.say(Terminal.bold("Hearth: a live document database in one file"))
    try await source.read { stanza in
      totalStanzas += 1
      figures.inputBytes += stanza.count + 2
    }
    let origin =
      switch source {
      case .apt: "This machine's Debian package index (apt-cache dumpavail)"
      case .file(let path): "The index in \(path)"
      case .text: "Our own small shelf of books"
      }
    let size = Figure.bytes(figures.inputBytes)
    try screen.say("\(origin): \(Figure.count(totalStanzas)) entries, \(size) of text.")
  }

  /// The number of concurrent writes. They share commits: one flush makes all waiting writes
  /// durable.
  private static var writesInFlight: Int { 2048 }

  private mutating func importAll(_ db: Firestore) async throws {
    try screen.begin("Import", "one durable setData(from:) for every document, many at once")
    let collection = db.collection(Record.collection)
    let bar = ProgressBar()
    let commitsBefore = try await db.statistics().commits
    let began = ContinuousClock.now
    var ids: Swift.Set<String> = []
    try await withThrowingTaskGroup(of: Record?.self) { group in
      var inFlight = 0
      func finishOne() async throws {
        inFlight -= 1
        guard let record = try await group.next() ?? nil else { return }
        try check(
          ids.insert(record.documentID).inserted, "The index names \(record.documentID) twice.")
        fingerprint.add(record)
      }
      try await source.read { stanza in
        if inFlight == Self.writesInFlight { try await finishOne() }
        group.addTask {
          guard let record = Record(Stanza(stanza)) else { return nil }
          try await collection.document(record.documentID).durablySet(record)
          return record
        }
        inFlight += 1
        bar.show("", ids.count, of: totalStanzas)
      }
      while inFlight > 0 { try await finishOne() }
    }
    bar.finish()
    figures.importTime = began.duration(to: .now)
    figures.documents = ids.count
    let statistics = try await db.statistics()
    figures.importCommits = statistics.commits - commitsBefore
    try check(!ids.isEmpty, "The index holds nothing to import.")
    try check(
      statistics.documents == ids.count,
      "\(ids.count) documents were written, but the file counts \(statistics.documents).")
    try screen.say(
      "\(Figure.count(figures.documents, "document")) in \(Figure.duration(figures.importTime)): "
        + "\(Figure.count(figures.importRate)) documents a second, every one durable.")
    let shared = figures.documents / max(figures.importCommits, 1)
    try screen.say(
      "They shared \(Figure.count(figures.importCommits, "commit")), about "
        + "\(Figure.count(shared, "document")) a flush to disk.")
  }

  private mutating func readBack(_ db: Firestore) async throws {
    try screen.begin("Read back", "getDocument(as: \(String(describing: Record.self)).self)")
    let collection = db.collection(Record.collection)
    let began = ContinuousClock.now
    let documents = try await collection.getDocuments().documents
    let found = try Self.fingerprint(documents)
    figures.readTime = began.duration(to: .now)
    try check(
      found == fingerprint, "The documents read back are not equal to those that were written.")
    let ids = documents.map(\.documentID)
    figures.exampleID = ids.contains("bash") ? "bash" : ids[0]
    for id in [ids[ids.count / 3], figures.exampleID] {
      let record = try await collection.document(id).getDocument(as: Record.self)
      try screen.say("  \(record.line)")
    }
    try screen.say(
      "All \(Figure.count(figures.documents)) decoded and equal to what was written, in "
        + "\(Figure.duration(figures.readTime)): \(Figure.count(figures.readRate)) a second.")
  }

  /// Returns the value of `visits` that the changed document must have from now on.
  private mutating func listen(_ db: Firestore) async throws -> Int {
    try screen.begin(
      "Listen", "for try await snapshot in db.collection(\"\(Record.collection)\").snapshots")
    let document = db.collection(Record.collection).document(figures.exampleID)
    var snapshots = db.collection(Record.collection).snapshots.makeAsyncIterator()
    guard let first = try await snapshots.next() else { throw Failure("The listener ended.") }
    try check(
      first.count == figures.documents,
      "The listener began with \(first.count) of \(figures.documents) documents.")
    let rounds = 50
    for round in 1...rounds {
      let began = ContinuousClock.now
      try await document.updateData(["visits": FieldValue.increment(1)])
      figures.acknowledgements.append(began.duration(to: .now))
      guard let snapshot = try await snapshots.next() else {
        throw Failure("The listener ended.")
      }
      figures.latencies.append(began.duration(to: .now))
      let change = snapshot.documentChanges.first
      try check(
        snapshot.documentChanges.count == 1 && change?.type == .modified
          && change?.document.documentID == document.documentID
          && change?.document["visits"] as? Int == round,
        "The listener received something other than change \(round).")
      if round == 1 { try screen.say("  modified \(document.path), visits: \(round)") }
    }
    try screen.say(
      "One listener follows all \(Figure.count(figures.documents)) documents while "
        + "\(document.path) changes \(rounds) times.")
    try screen.say(
      "A change is durable after \(Figure.duration(figures.acknowledged)), and the event of it "
        + "there after \(Figure.duration(figures.delivered)) (medians): one change, not a new "
        + "result.")
    return rounds
  }

  private mutating func reopen(expecting visits: Int) async throws {
    try screen.begin("Reopen", "Firestore.open(at:)")
    let began = ContinuousClock.now
    let db = try Firestore.open(at: path)
    let changed = try await db.collection(Record.collection).document(figures.exampleID)
      .getDocument()
    figures.reopenTime = began.duration(to: .now)
    try check(
      changed["visits"] as? Int == visits,
      "The last change is not there after reopening the file.")
    let found = try Self.fingerprint(
      await db.collection(Record.collection).getDocuments().documents)
    try check(found == fingerprint, "The documents are not equal after reopening the file.")
    let statistics = try await db.statistics()
    figures.fileBytes = statistics.fileBytes
    figures.documentBytes = statistics.documentBytes
    figures.changeLogBytes = statistics.changeLogBytes
    try await db.terminate()
    try screen.say(
      "Opened and the changed document read in \(Figure.duration(figures.reopenTime)); "
        + "all \(Figure.count(statistics.documents, "document")) are still there, and equal.")
    try screen.say(
      "The file has \(Figure.bytes(figures.fileBytes)), \(Figure.count(figures.bytesPerDocument)) "
        + "bytes a document: \(Figure.bytes(figures.documentBytes)) of documents, "
        + "\(Figure.bytes(figures.changeLogBytes)) of change log.")
    try screen.say("")
    try screen.say(Terminal.bold("Everything checked holds."))
  }

  private static func fingerprint(_ documents: [QueryDocumentSnapshot]) throws -> Fingerprint {
    var found = Fingerprint()
    for document in documents { found.add(try document.data(as: Record.self)) }
    return found
  }

  private func check(_ holds: Bool, _ sentence: String) throws {
    guard holds else { throw Failure("The demo failed. \(sentence)") }
  }
}

/// A set of records, as a number: equal sets have equal fingerprints, in any order.
private struct Fingerprint: Equatable {
  private var count = 0
  private var sum = 0

  mutating func add(_ record: some DemoRecord) {
    count += 1
    sum &+= record.hashValue
  }
}

extension DocumentReference {
  /// Writes an encoded value and returns when it is durable.
  fileprivate func durablySet(_ value: some Encodable & Sendable) async throws {
    try await withCheckedThrowingContinuation { (done: CheckedContinuation<Void, any Error>) in
      do {
        try setData(from: value) { error in
          if let error { done.resume(throwing: error) } else { done.resume() }
        }
      } catch {
        done.resume(throwing: error)
      }
    }
  }
}
