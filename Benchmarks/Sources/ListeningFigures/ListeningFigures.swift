import Foundation
import Hearth

/// What listening costs, and beside it what GRDB's ValueObservation does with the same work.
///
///     swift run -c release --package-path Benchmarks ListeningFigures <folder> [part …]
///
/// Parts: routing, one, ranges, matching, sizes, sleeper, processes, grdb, document; all of them without a name.
/// Processor time is that of the whole process, of a commit with everything that follows from it.
/// Parts that ask only for it do not flush, so that the disk is not in it; those beside GRDB, and those
/// that tell how long something takes, flush every commit on both sides.
@main
struct ListeningFigures {
  let folder: String

  static func main() async throws {
    var arguments = CommandLine.arguments.dropFirst()
    if arguments.first == OtherProcess.argument {
      return try await OtherProcess.run(arguments.dropFirst().first ?? "")
    }
    let base = arguments.popFirst() ?? NSTemporaryDirectory()
    let folder = base + "/hearth-listening-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let figures = ListeningFigures(folder: folder)
    let parts: [(name: String, body: () async throws -> Void)] = [
      ("routing", figures.routing), ("one", figures.oneListener),
      ("ranges", figures.overlappingRanges),
      ("matching", figures.matching), ("sizes", figures.sizes), ("sleeper", figures.sleeper),
      ("processes", figures.processes), ("grdb", figures.manyObservers),
      ("document", figures.oneDocument),
    ]
    for part in parts where arguments.isEmpty || arguments.contains(part.name) {
      print("— \(part.name)")
      try await part.body()
    }
  }

  func open(flushing: Bool = false) throws -> Firestore {
    let settings = FirestoreSettings()
    if !flushing { settings.durability = .unsafeWithoutFlushing }
    return try Firestore.open(at: "\(folder)/\(UUID().uuidString).hearth", settings: settings)
  }

  // MARK: Routing

  /// Many listeners, one of which looks at what changes.
  private func routing() async throws {
    var alone: Double?
    for count in [0, 1, 1000, 100_000] {
      let db = try open()
      let books = db.collection("books")
      let bulk = db.bulkWriter()
      for index in 0..<200 { await bulk.enqueueSet(Mix.book(index), forDocument: books.document()) }
      _ = await bulk.finish()
      let hot = books.document("hot")
      try await hot.setData(Mix.hot)
      let memory = Machine.anonymousBytes
      let begin = Machine.wallSeconds
      let mix = Mix(db)
      for index in 1..<max(count, 1) { mix.listen(index) }
      await mix.first.wait(for: max(count, 1) - 1)
      let seconds = Machine.wallSeconds - begin
      let perListener = (Machine.anonymousBytes - memory) / max(count, 1)
      let told = Bell()
      if count > 0 {
        books.whereField("author", isEqualTo: "hot").addSnapshotListener(on: Mix.queue) {
          snapshot, _ in
          if snapshot != nil { told.ring() }
        }
        await told.wait(for: 1)
      }
      // Indexes that were learned are built before.
      try await Task.sleep(for: .seconds(1))
      let cost = try await spend(db, commits: 500, on: hot, told: count > 0 ? told : nil)
      if count == 0 { alone = cost.nanoseconds }
      print(
        """
        routing\t\(count) listeners\tviews visited \(cost.visits)\tCPU/commit \
        \(Text.micros(cost.nanoseconds))\tabove none \
        \(Text.micros(cost.nanoseconds - (alone ?? 0)))\tbytes/listener \(perListener)\t\
        registered in \(Text.seconds(seconds))
        """)
      try await db.terminate()
    }
  }

  /// Commits one after another, each after what the one before led to.
  private func spend(
    _ db: Firestore, commits: Int, on document: DocumentReference, told: Bell?, deliveries: Int = 1,
    _ change: (Int) -> [String: Any] = { ["n": $0] }
  ) async throws -> (nanoseconds: Double, visits: Double) {
    func run(_ count: Int, _ first: Int) async throws {
      for index in 0..<count {
        let expected = told.map { $0.count + deliveries } ?? 0
        try await document.updateData(change(first + index + 1))
        await told?.wait(for: expected)
      }
    }
    try await run(commits / 5, 0)
    let visits = try await db.listenerStatistics().visits
    let begin = Machine.cpuNanoseconds
    try await run(commits, commits)
    let spent = Machine.cpuNanoseconds - begin
    return (
      Double(spent) / Double(commits),
      Double(try await db.listenerStatistics().visits - visits) / Double(commits)
    )
  }

  /// What a commit with one listener costs above one without, and how long it takes to the callback.
  private func oneListener() async throws {
    for turn in 0..<6 {
      let isListening = turn % 2 == 1
      let db = try open()
      let document = db.collection("books").document("hot")
      try await document.setData(["n": 0])
      let told = Bell(keepingTimes: true)
      if isListening {
        document.addSnapshotListener(on: Mix.queue) { _, _ in told.ring() }
        await told.wait(for: 1)
      }
      try await Task.sleep(for: .milliseconds(200))
      let (cpuBegin, switchesBegin) = (Machine.cpuNanoseconds, Machine.switches)
      var times: [Double] = []
      let commits = 3000
      for index in 1...commits {
        told.clear()
        let begin = Machine.monotonicNanoseconds
        try await document.updateData(["n": index])
        guard isListening else { continue }
        await told.wait(for: 1)
        times.append(Double(told.times[0] - begin))
      }
      let cpu = Double(Machine.cpuNanoseconds - cpuBegin) / Double(commits)
      let switches = Double(Machine.switches - switchesBegin) / Double(commits)
      print(
        """
        one\t\(isListening ? "listener" : "none")\tCPU/commit \(Text.micros(cpu))\tthreads put to sleep \
        \(String(format: "%.1f", switches))\tstart of the write → callback \(Text.spread(times))
        """)
      try await db.terminate()
    }
  }

  /// Ranges that lie across each other; the change is in one of them, and in a hundred.
  private func overlappingRanges() async throws {
    for (count, point) in [(1, 0), (10_000, 0), (10_000, 99)] {
      let db = try open()
      let document = db.collection("books").document("hot")
      try await document.setData(["year": point])
      let (first, told) = (Bell(), Bell())
      for index in 0..<count {
        db.collection("books")
          .whereField("year", isGreaterThanOrEqualTo: index)
          .whereField("year", isLessThanOrEqualTo: index + 5000)
          .addSnapshotListener(on: Mix.queue) { snapshot, _ in
            guard let snapshot else { return }
            if snapshot.documentChanges.contains(where: { $0.type == .modified }) {
              told.ring()
            } else {
              first.ring()
            }
          }
      }
      await first.wait(for: count)
      let matching = min(count, point + 1)
      let cost = try await spend(db, commits: 500, on: document, told: told, deliveries: matching)
      print(
        """
        ranges\t\(count) overlapping\t\(matching) matching\tviews visited \(cost.visits)\t\
        CPU/commit \(Text.micros(cost.nanoseconds))
        """)
      try await db.terminate()
    }
  }

  /// Many listeners, all of which look at what changes.
  private func matching() async throws {
    for isShared in [false, true] {
      var alone = 0.0
      for count in [0, 1, 100, 1000, 10_000] {
        let db = try open()
        let document = db.collection("books").document("hot")
        try await document.setData(["author": "hot", "n": 0])
        let told = Bell()
        for index in 0..<count {
          let all = db.collection("books").whereField("author", isEqualTo: "hot")
          (isShared ? all : all.whereField("n", isGreaterThan: -1 - index))
            .addSnapshotListener(on: Mix.queue) { snapshot, _ in
              if snapshot != nil { told.ring() }
            }
        }
        await told.wait(for: count)
        let cost = try await spend(
          db, commits: count > 1000 ? 50 : 300, on: document, told: count > 0 ? told : nil,
          deliveries: count)
        if count == 0 { alone = cost.nanoseconds }
        let each = count > 0 ? Text.micros((cost.nanoseconds - alone) / Double(count)) : "-"
        print(
          """
          matching\t\(count) \(isShared ? "of one query" : "of different queries")\tCPU/commit \
          \(Text.micros(cost.nanoseconds))\tper delivery \(each)
          """)
        try await db.terminate()
      }
    }
  }

  /// One document moves within a result.
  private func sizes() async throws {
    for size in [100, 10_000, 1_000_000] {
      let db = try open()
      let books = db.collection("books")
      let bulk = db.bulkWriter()
      for index in 0..<size {
        await bulk.enqueueSet(
          ["n": index, "title": "The book with the number \(index)"],
          forDocument: books.document("\(index)"))
      }
      _ = await bulk.finish()
      let document = books.document("\(size / 2)")
      func change(_ step: Int) -> [String: Any] { ["n": step * 7919 % size] }
      let alone = try await spend(db, commits: 500, on: document, told: nil, change)
      let memory = Machine.anonymousBytes
      let told = Bell()
      books.order(by: "n").addSnapshotListener(on: Mix.queue) { snapshot, _ in
        guard let snapshot, let change = snapshot.documentChanges.first else { return }
        precondition(snapshot.count == size && change.document.exists)
        told.ring()
      }
      await told.wait(for: 1)
      let held = Machine.anonymousBytes - memory
      let cost = try await spend(db, commits: 500, on: document, told: told, change)
      print(
        """
        sizes\t\(size) documents\tCPU/commit \(Text.micros(cost.nanoseconds))\twithout a listener \
        \(Text.micros(alone.nanoseconds))\tthe change \
        \(Text.micros(cost.nanoseconds - alone.nanoseconds))\tbytes/document \(held / size)
        """)
      try await db.terminate()
    }
  }

  // MARK: Consumers

  /// A callback that does not return while much is written.
  private func sleeper() async throws {
    enum Consumer: String, CaseIterable { case none, awake, asleep }
    for consumer in Consumer.allCases + Consumer.allCases {
      let db = try open()
      let books = db.collection("books")
      let told = Bell()
      let gate = Gate()
      if consumer != .none {
        books.addSnapshotListener(on: DispatchQueue(label: "consumer")) { _, _ in
          told.ring()
          if consumer == .asleep { gate.pass() }
        }
        await told.wait(for: 1)
      }
      let memory = Machine.anonymousBytes
      let begin = Machine.wallSeconds
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<16 {
          group.addTask {
            for index in 0..<2500 {
              let document = books.document("\(task * 100 + index % 100)")
              try await document.setData(Mix.book(index))
            }
          }
        }
        try await group.waitForAll()
      }
      let rate = 40_000 / (Machine.wallSeconds - begin)
      print(
        """
        sleeper\tconsumer \(consumer.rawValue)\twrites/s \(Int(rate))\tmemory grew by \
        \((Machine.anonymousBytes - memory) / 1024) KiB\ttold \(told.count)
        """)
      gate.open()
      try await db.terminate()
    }
  }
}
