/// Writes that need no document to be read first: the server compares, decides and applies them under
/// its lock, in one round trip.
///
///     jobs ─▶ waves: no job touches what an earlier one of its wave writes
///     server: the lock ─▶ wave by wave: conditions, bodies compared, sequences, documents, log
///         └─▶ for each write: the version before it, whether it was refused, its new sequence
///
/// A wave is decided in one state. Each of its jobs is applied as a whole, or not at all.
package struct RemoteBlindBatch: Sendable {
  package struct Write: Sendable {
    package enum Operation: Sendable {
      case verify
      case delete
      /// The whole document.
      case store([UInt8])
    }

    /// Writes with one number are applied together, or not at all. Ascending.
    package var job: Int
    package var key: RemoteKey
    package var operation: Operation
    package var condition: Mutation.Precondition
  }

  /// An entry that an index has of a document after its write.
  package struct Entry: Sendable {
    /// The position of the write in its wave.
    package var write: Int
    package var index: UInt32
    package var key: [UInt8]
  }

  /// Nothing of a scope has changed since a sequence.
  package struct Unchanged: Sendable {
    package var scope: RemoteScope
    package var since: UInt64
  }

  package struct Wave: Sendable {
    /// Each document is written once at most.
    package var writes: [Write] = []
    package var entries: [Entry] = []
    /// If one of these is not so, nothing of the wave is done.
    package var unchanged: [Unchanged] = []
  }

  /// 16 random bytes, by which the commit is found again.
  package var id: [UInt8]
  /// If the indexes have another generation, nothing is done.
  package var generation: UInt64
  /// If the newest sequence is less, nothing is done: the store has lost commits.
  package var seen: UInt64 = 0
  /// If the first commit of a wave would get a later time, nothing of the wave is done.
  package var latestTime = Instant.latest.microseconds
  /// The indexes whose entries the waves have. Empty if no index is concerned.
  package var indexes: [UInt32] = []
  /// The time of the first commit, unless it has to be later.
  package var time: Int64
  package var waves: [Wave] = []
}

/// The outcome of one wave of a `RemoteBlindBatch`.
package struct RemoteBlindAnswer: Sendable {
  package struct Outcome: Sendable {
    /// The update time of the version before; nil if there was none.
    package var updateTime: Int64?
    /// Its condition was not met.
    package var isRefused: Bool
    /// Nil if nothing has changed.
    package var change: (sequence: UInt64, time: Int64)?
    /// The time of its job's commit, even if it has changed nothing; nil if the job was refused, or only
    /// verifies.
    package var time: Int64?
  }

  /// The newest sequence and time before the wave.
  package var sequence: UInt64
  package var time: Int64
  /// The time of its first job.
  package var next: Int64
  package var outcomes: [Outcome] = []
}

extension RemoteBlindAnswer {
  private static let numbersBefore = 3
  private static let numbersOfOutcome = 4

  /// From big-endian numbers: sequence, time and next time; then for each write the update time or
  /// the least number, 1 for a refusal, the new sequence or 0, the job's time or 0. Nil for other
  /// bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count % 8 == 0 else { return nil }
    let numbers = stride(from: 0, to: bytes.count, by: 8).map { start -> Int64 in
      bytes[start..<start + 8].reduce(0) { $0 << 8 | Int64($1) }
    }
    guard numbers.count >= Self.numbersBefore,
      (numbers.count - Self.numbersBefore) % Self.numbersOfOutcome == 0
    else { return nil }
    self.init(sequence: UInt64(bitPattern: numbers[0]), time: numbers[1], next: numbers[2])
    for start in stride(
      from: Self.numbersBefore, to: numbers.count, by: Self.numbersOfOutcome)
    {
      let (updated, sequence) = (numbers[start], numbers[start + 2])
      outcomes.append(
        Outcome(
          updateTime: updated == .min ? nil : updated, isRefused: numbers[start + 1] != 0,
          change: sequence == 0
            ? nil : (sequence: UInt64(bitPattern: sequence), time: numbers[start + 3]),
          time: numbers[start + 3] == 0 ? nil : numbers[start + 3]))
    }
  }
}
