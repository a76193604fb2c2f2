internal import CXXHash
internal import HearthText

/// The comparison of a copy with its source.
///
///     both walked ─▶ for each collection id: a count and a sum of hashes ─▶ equal: the same documents
///                └─▶ not equal: the documents of these ids one by one, in the state of the token
///
/// The sums of a source that is written meanwhile need not be those of one state; documents that
/// differ because of that are equal in the state of the token.
package struct CopyVerification: Sendable {
  /// The documents of all collections with one id.
  package struct Sum: Sendable, Hashable {
    package var count = 0
    /// The sum of a 128-bit hash of each document: its name, its times, its fields. In any order.
    package var low: UInt64 = 0
    package var high: UInt64 = 0

    mutating func add(_ document: StoredDocument) {
      count += 1
      var bytes = Array(document.path.text.utf8)
      for time in [document.createTime, document.updateTime] {
        withUnsafeBytes(of: time.microseconds.littleEndian) { bytes.append(contentsOf: $0) }
      }
      let seed = bytes.withUnsafeBytes { XXH3_64bits($0.baseAddress, $0.count) }
      let hash = document.body.withBytes {
        XXH3_128bits_withSeed($0.baseAddress, $0.count, seed)
      }
      let (sum, overflow) = low.addingReportingOverflow(hash.low64)
      low = sum
      high = high &+ hash.high64 &+ (overflow ? 1 : 0)
    }

    /// 32 hexadecimal digits.
    package var checksum: String {
      String(high, radix: 16, width: 16) + String(low, radix: 16, width: 16)
    }
  }

  /// Of the target, by collection id.
  package var sums: [String: Sum] = [:]
  /// The paths of up to 20 documents that are not the same, or only on one side.
  package var differences: [String] = []
  package var differenceCount = 0

  package init() {}

  /// In the order of ids.
  package var collections: [(id: String, sum: Sum)] {
    sums.sorted { UTF8Order.compare($0.key, $1.key) < 0 }.map { ($0.key, $0.value) }
  }

  static let exampleLimit = 20
}

extension DocumentCopy {
  /// Compares everything. Others may write to the source, not to the target.
  package func verify(
    _ progress: @escaping @Sendable (Count) -> Void = { _ in }
  ) async throws -> CopyVerification {
    let total = try await target.read(.documentCount).count
    async let ofSource = sums(source) { _ in }
    async let ofTarget = sums(target) { progress(($0, max(total, $0))) }
    let (sources, targets) = (try await ofSource, try await ofTarget)
    var verification = CopyVerification()
    verification.sums = targets
    let suspects = Set(sources.keys).union(targets.keys).filter { sources[$0] != targets[$0] }
    if suspects.isEmpty { return verification }
    for backend in [source, target] {
      let other = backend === source ? target : source
      try await forEachPage(of: backend) { page in
        let documents = page.filter { suspects.contains($0.path.parent.id) }
        let others = try await other.read(.documents(at: documents.map(\.path))).documents
        var paths: [ResourcePath] = []
        for (one, other) in zip(documents, others) {
          // Those of the target that the source has, too, are compared already.
          let isSuspect =
            backend === source ? !(other?.isCopy(of: one) ?? false) : other == nil
          if isSuspect { paths.append(one.path) }
        }
        try await compare(paths, into: &verification)
      }
    }
    return verification
  }

  /// Compares the documents that have changed in the source since a token.
  package func verifyChanges(since token: ChangeToken) async throws -> CopyVerification {
    var verification = CopyVerification()
    var token = token
    while token.sequence < state.token.sequence {
      let page = try await changes(since: token)
      guard let last = page.last else { break }
      token = source.token(after: last.sequence)
      try await compare(
        Array(Set(page.map(\.path)).filter { !$0.isOfCopy }), into: &verification)
    }
    return verification
  }

  /// The position up to which the target has the source's changes.
  package var token: ChangeToken { state.token }

  private func sums(
    _ backend: any Backend, _ progress: @escaping @Sendable (Int) -> Void
  ) async throws -> [String: CopyVerification.Sum] {
    var sums: [String: CopyVerification.Sum] = [:]
    var count = 0
    try await forEachPage(of: backend) { page in
      for document in page { sums[document.path.parent.id, default: .init()].add(document) }
      count += page.count
      progress(count)
    }
    return sums
  }

  private func forEachPage(
    of backend: any Backend, _ body: ([StoredDocument]) async throws -> Void
  ) async throws {
    var limits = PageLimits(count: 64, byteCount: 2 << 20)
    var position: [UInt8]?
    repeat {
      try Task.checkCancellation()
      let start = position
      let size = limits
      let page = try await backend.read(.page(after: start, size)).page
      try await body(page.documents.filter { !$0.path.isOfCopy })
      let bytes = page.documents.reduce(1) { $0 + $1.body.bytes.count }
      limits.count = min(
        max(page.documents.count * limits.byteCount / bytes, 1), limits.count * 2, 512)
      position = page.next
    } while position != nil
  }

  /// Compares documents in the state of the token, in which the target is.
  private func compare(
    _ paths: [ResourcePath], into verification: inout CopyVerification
  ) async throws {
    if paths.isEmpty { return }
    let (source, token) = (source, state.token)
    var expected: [StoredDocument?]
    do {
      let time = try await source.awaiting { source.time(of: token, $0, $1) }
      expected = try await source.versioned(.documents(at: paths), at: time).answer.documents
    } catch let status as Status where status.code == .outOfRange {
      throw Status(
        .outOfRange,
        "The source's change log no longer reaches back to the state of the copy: a comparison is "
          + "not possible.", cause: status)
    }
    if token.sequence == 0 { expected = paths.map { _ in nil } }
    let found = try await target.read(.documents(at: paths)).documents
    for (path, (one, other)) in zip(paths, zip(expected, found)) {
      let isSame =
        switch (one, other) {
        case (nil, nil): true
        case (let one?, let other?): other.isCopy(of: one)
        default: false
        }
      if isSame || verification.differences.contains(path.text) { continue }
      verification.differenceCount += 1
      if verification.differences.count < CopyVerification.exampleLimit {
        verification.differences.append(path.text)
      }
    }
  }
}

extension StoredDocument {
  fileprivate func isCopy(of other: StoredDocument) -> Bool {
    createTime == other.createTime && updateTime == other.updateTime && body == other.body
  }
}
