import Foundation
import Workloads

extension Bench {
  /// Single puts, each durable before the next of its task.
  func durable() async throws {
    guard wants("durable1-vs-grdb", "durable64-vs-grdb") else { return }
    let hearth = try await HearthEngine(path: path("durable"))
    try await hearth.declareIndexes()
    let records = try await GRDBEngine(path: path("durable"))
    let documents = try await SQLiteJSONEngine(path: path("durable"))
    let engines: [any Engine] = [hearth, records, documents]
    for engine in engines {
      let before = Flushes.count
      try await engine.put(Book(0), Book.id(0))
      try await engine.put(Book(1), Book.id(1))
      note("\(type(of: engine).name): \(Flushes.count - before) flushes for two durable puts")
    }
    for tasks in [1, 64] {
      let count = tasks == 1 ? 100 : 1920
      var race = Race()
      var next = 0
      for engine in engines {
        race.add(type(of: engine).name) {
          next += count
          let first = next
          return try await Race.nanoseconds(count) {
            try await withThrowingTaskGroup(of: Void.self) { group in
              for task in 0..<tasks {
                group.addTask {
                  for number in stride(from: task, to: count, by: tasks) {
                    try await engine.put(Book(first + number), Book.id(first + number))
                  }
                }
              }
              try await group.waitForAll()
            }
          }
        }
      }
      let results = try await race.run(rounds: rounds + 2)
      let work = "durable put, \(tasks) task\(tasks == 1 ? "" : "s")"
      tell(
        "durable\(tasks)-vs-grdb", work, results, against: GRDBEngine.name,
        aim: tasks == 1 ? 0.8 : 6, unit: "ns")
      tell(
        "durable\(tasks)-vs-sqlite-json", work, results, against: SQLiteJSONEngine.name,
        aim: tasks == 1 ? 0.5 : 5, unit: "ns")
    }
    for engine in engines { try await engine.close() }
  }
}
