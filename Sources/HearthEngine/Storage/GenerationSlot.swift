/// A memory that a layer above Storage has of a file, for one generation of its indexes.
protocol GenerationMemory: AnyObject, Sendable {
  var generation: UInt64 { get }
}

/// The place of such a memory in the open file. Holds the memory of one generation.
struct GenerationSlot<Memory: GenerationMemory>: ~Copyable, Sendable {
  private let held = Guarded<Memory?>(nil)

  /// The memory that was kept last, of any generation.
  var last: Memory? { held.withLock { $0 } }

  /// The memory of this generation. Makes it if the slot holds another one.
  func memory(of generation: UInt64, _ make: () throws -> Memory) rethrows -> Memory {
    if let held = last, held.generation == generation { return held }
    let memory = try make()
    held.withLock { held in
      // A reader of an older state does not replace what newer ones and the writer use.
      if let newer = held, newer.generation > generation { return }
      held = memory
    }
    return memory
  }

  func forget() { held.withLock { $0 = nil } }
}
