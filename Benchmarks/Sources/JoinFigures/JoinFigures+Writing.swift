import Foundation

extension JoinFigures {
  /// Durable inserts of books with a unique number, from 64 tasks.
  func writing() async throws {
    let name = "unique insert, 64 tasks"
    guard wants(name) else { return }
    if FileManager.default.fileExists(atPath: searchMarker) {
      print("note\t\(name)\tskipped: Hearth would update indexes on words and cells, and GRDB none")
      return
    }
    guard try await hearth.refusesDuplicate(), try await sqlite.refusesDuplicate() else {
      throw Missing()
    }
    let (tasks, count) = (64, 1920)
    // The library is no longer what a later run would expect in the folder.
    try FileManager.default.removeItem(atPath: marker)
    var next = library.books
    var times: (own: [Double], their: [Double]) = ([], [])
    for round in 0...rounds {
      let first = next
      next += count
      let numbers = first..<first + count
      let own = try await insert(tasks, numbers.map { (ID.book($0), hearth.book($0)) }) {
        try await hearth.insert($0.1, as: $0.0)
      }
      let their = try await insert(tasks, numbers.map(sqlite.book), sqlite.insert)
      guard round > 0 else { continue }
      times.own.append(own)
      times.their.append(their)
    }
    show(name, times.own, times.their)
  }

  /// The time of a call, in nanoseconds.
  func insert<Model: Sendable>(
    _ tasks: Int, _ models: [Model], _ insert: @escaping @Sendable (Model) async throws -> Void
  ) async throws -> Double {
    let begin = Machine.nanoseconds
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<tasks {
        group.addTask {
          for index in stride(from: task, to: models.count, by: tasks) {
            try await insert(models[index])
          }
        }
      }
      try await group.waitForAll()
    }
    return (Machine.nanoseconds - begin) / Double(models.count)
  }
}
