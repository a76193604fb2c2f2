#if Tools
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  /// The steps of `hearth copy`.
  struct CopyRun: Sendable {
    /// Of the source, for messages.
    let name: String
    let isFollowing: Bool
    let endsCaughtUp: Bool
    let verifiesAll: Bool
    private let bar = ProgressBar()
    private let news = LagReport()

    /// At the end only the documents that changed after the comparison of all are compared.
    var comparesChanges: Bool { isFollowing && !verifiesAll }

    /// Copies, compares, and with `isFollowing` goes on until the task is cancelled. Returns the
    /// last comparison of all documents.
    func callAsFunction(_ copy: DatabaseCopy) async throws -> DatabaseCopy.Verification {
      defer { bar.finish() }
      try await copy.copyDocuments { [bar] in bar.show("copying", $0.done, of: $0.total) }
      bar.finish()
      try await copy.copyIndexes()
      let verified = copy.token
      let verification = try await verify(copy)
      guard isFollowing else {
        try await copy.finish()
        if try await copy.hasMissingChanges() {
          Terminal.printAside("\(name) has changed since; the copy is an earlier state of it.")
        }
        return verification
      }
      do {
        try await copy.follow { [news, endsCaughtUp] lag in
          news.show(lag)
          return !endsCaughtUp || lag.changes > 0
        }
      } catch is CancellationError {
        // The signal ends the following; what is left is done in spite of it.
      }
      return try await Task { try await end(copy, verification, since: verified) }.value
    }

    private func verify(_ copy: DatabaseCopy) async throws -> DatabaseCopy.Verification {
      let verification = try await copy.verify { [bar] in
        bar.show("comparing", $0.done, of: $0.total)
      }
      bar.finish()
      return try checked(verification)
    }

    private func checked(
      _ verification: DatabaseCopy.Verification
    ) throws -> DatabaseCopy.Verification {
      guard !verification.isEqual else { return verification }
      for path in verification.differences { Terminal.printAside("\(path.legible)") }
      throw Failure(
        "\(Figure.count(verification.differenceCount, "document")) of the copy not the same as in "
          + "\(name). The copy is not finished.")
    }

    private func end(
      _ copy: DatabaseCopy, _ verification: DatabaseCopy.Verification, since token: ChangeToken
    ) async throws -> DatabaseCopy.Verification {
      try await copy.catchUp()
      let last =
        verifiesAll ? try await verify(copy) : try checked(await copy.verifyChanges(since: token))
      guard try await !copy.hasMissingChanges() else {
        throw Failure(
          "\(name) is still being written, so the copy is not finished. Stop what writes to it, and "
            + "give the same command again: it goes on where it was.")
      }
      try await copy.finish()
      // A writer that was not stopped may have come between.
      guard try await !copy.hasMissingChanges() else {
        throw Failure(
          "\(name) was written in the moment when the copy was finished. The copy lacks these changes: "
            + "copy again into an empty database.")
      }
      return verifiesAll ? last : verification
    }
  }

  /// Says on standard error how far a copy is behind: at each change between behind and not, and
  /// every few seconds while it is behind.
  private final class LagReport: Sendable {
    private struct State {
      var isBehind: Bool?
      var shown = ContinuousClock.now
    }

    private let state = Guarded(State())

    func show(_ lag: DatabaseCopy.Lag) {
      let isBehind = lag.changes > 0
      let isDue = state.withLock { state in
        let isLong = state.shown.duration(to: .now) > .seconds(isBehind ? 2 : 60)
        guard state.isBehind == nil || isLong || state.isBehind == true && !isBehind else {
          return false
        }
        state.isBehind = isBehind
        state.shown = .now
        return true
      }
      guard isDue else { return }
      Terminal.printAside(
        isBehind
          ? "\(Figure.count(lag.changes, "change")) missing, \(Figure.duration(lag.time)) behind"
          : "Nothing is missing.")
    }
  }
#endif
