/// Counts the work of a read, independent of time.
final class ReadCounters {
  // Exclusivity is unchecked: each access is one addition on the thread of the read; threads of a
  // parallel scan count on their own and are added when they end.

  /// Keys that scans have read.
  @exclusivity(unchecked) var keys = 0
  /// Documents whose fields were read.
  @exclusivity(unchecked) var documents = 0
  /// Index entries that scans have read.
  @exclusivity(unchecked) var entries = 0
  /// Documents read to sort collision runs of index entries.
  @exclusivity(unchecked) var runDocuments = 0
  /// Index entries read to choose a plan.
  @exclusivity(unchecked) var probes = 0

  /// Throws `ReadDeadline.Passed`.
  @inline(__always)
  func countKey(until deadline: ReadDeadline?) throws {
    keys += 1
    if keys & 15 == 0 { try deadline?.check() }
  }

  /// Throws `ReadDeadline.Passed`.
  @inline(__always)
  func countEntry(until deadline: ReadDeadline?) throws {
    entries += 1
    if entries & 15 == 0 { try deadline?.check() }
  }
}
