#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "copy",
      abstract: "Copy a database into an empty one, between files and servers, while it is in use.",
      discussion: """
        Documents keep their times. Declared indexes, unique ones and references are declared once all \
        documents are there. Then both databases are compared, by counts and checksums.

        A copy that was interrupted goes on where it was when the command is given again. Nobody else may \
        write to the copy before it is finished; the database that is copied may be written all the time.

        To move a service with seconds of downtime:

          hearth copy books.hearth postgresql://books@db.internal/books --follow

        Once it says that nothing is missing, stop the service and press ^C: the command applies what is \
        left, compares what has changed, finishes the copy, and the service can be started with it. If the \
        service was still writing, the copy is not finished, the status is 1, and the same command goes on.

        The change log of the database that is copied must reach back to the last change that was applied; \
        keep changes for longer than an interruption may take. Rules of expiry are copied at the end.
        """)

    @Argument(
      help: "The database to copy: a file, or a URL.",
      completion: .file(extensions: ["hearth"]))
    var source: DatabaseLocation
    @Argument(
      help: "The copy: a file, which is made if it is not there, or a URL. It has no documents.",
      completion: .file(extensions: ["hearth"]))
    var target: DatabaseLocation
    @Flag(help: "Go on with every change, until ^C.") var follow = false
    @Flag(help: "With --follow: end when no change is missing.") var untilCaughtUp = false
    @Flag(
      help: "With --follow: at the end compare all documents again, not only those that changed.")
    var verifyAll = false
    @OptionGroup var map: MapSizeOption
    @OptionGroup var output: OutputOptions

    func validate() throws {
      if !follow, untilCaughtUp || verifyAll {
        throw ValidationError("--until-caught-up and --verify-all belong to --follow.")
      }
    }

    func run() async throws {
      guard !source.isSame(as: target) else {
        throw Failure(
          "A database cannot be copied to itself. Name another one for the copy.")
      }
      let isJSON = output.json
      let run = CopyRun(
        name: source.name, isFollowing: follow, endsCaughtUp: untilCaughtUp, verifiesAll: verifyAll)
      try await source.open(.copying) { source in
        try await target.open(.making) { target in
          let verification = try await Interruption.cancelling {
            try await run(DatabaseCopy.begin(from: source, to: target))
          }
          try Self.show(verification, andChanges: run.comparesChanges, asJSON: isJSON)
        }
      }
    }

    /// - Parameter andChanges: Later changes were compared, too.
    private static func show(
      _ verification: DatabaseCopy.Verification, andChanges: Bool, asJSON: Bool
    ) throws {
      let total = verification.collections.reduce(0) { $0 + $1.documents }
      guard !asJSON else {
        return try Terminal.print(
          JSON.object([
            .init("equal", .boolean(verification.isEqual)), .init("documents", total),
            .init("differenceCount", verification.differenceCount),
            .init("differences", .array(verification.differences.map(JSON.string))),
            .init(
              "collections",
              .array(
                verification.collections.map {
                  .object([
                    .init("id", .string($0.id)), .init("documents", $0.documents),
                    .init("checksum", .string($0.checksum)),
                  ])
                })),
          ]))
      }
      let width = verification.collections.map(\.id.legible.count).max() ?? 0
      for collection in verification.collections {
        let count = Figure.count(collection.documents).leftPadded(to: 12)
        try Terminal.print(
          "\(collection.id.legible.padded(to: width))  \(count)  "
            + "\(Terminal.faint("\(collection.checksum)"))")
      }
      let changes = andChanges ? " and what changed since" : ""
      try Terminal.print("\(Figure.count(total, "document"))\(changes), the same in both")
    }
  }
#endif
