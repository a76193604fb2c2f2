#if Tools
  import ArgumentParser
  import Foundation
  import Hearth

  /// The database file that a command uses.
  struct DatabaseArgument: ParsableArguments {
    @Argument(help: "The database file.", completion: .file(extensions: ["hearth"]))
    var database: String
    @Option(
      help: """
        Address space to reserve for the file, such as 512MB or 8GiB; 64GiB by default. It is not \
        disk. Under ulimit -v choose less.
        """)
    var mapSize: ByteCount?

    /// Sets the map size of every database that is opened from now on.
    func validate() throws {
      if let mapSize { FirestoreSettings.setDefaultMapSizeBytes(mapSize.bytes) }
    }

    enum Access { case reading, writing, making }

    /// Opens the file, runs `body`, and closes it. Only `making` creates a file that does not
    /// exist.
    func open(
      _ access: Access, validatingPages: Bool = false, _ body: (Firestore) async throws -> Void
    ) async throws {
      guard access == .making || FileManager.default.fileExists(atPath: database) else {
        throw Failure("There is no database at \(database).")
      }
      let settings = FirestoreSettings()
      settings.isReadOnly = access == .reading
      settings.validatesPagesOnOpen = validatingPages
      let db = try Firestore.open(at: database, settings: settings)
      do {
        try await body(db)
      } catch {
        try? await db.terminate()
        throw error
      }
      try await db.terminate()
    }
  }

  /// `512MB`, `8GiB`, `1000000`: decimal units, or binary ones with an i.
  struct ByteCount: ExpressibleByArgument {
    let bytes: Int

    init?(argument: String) {
      let units = ["", "k", "m", "g", "t"]
      let digits = argument.prefix { $0.isASCII && $0.isNumber }
      var unit = argument.dropFirst(digits.count).lowercased()
      if unit.hasSuffix("b") { unit.removeLast() }
      let isBinary = unit.count == 2 && unit.hasSuffix("i")
      if isBinary { unit.removeLast() }
      guard let number = Int(digits), number > 0, let power = units.firstIndex(of: unit) else {
        return nil
      }
      var bytes = number
      for _ in 0..<power {
        let (product, overflow) = bytes.multipliedReportingOverflow(by: isBinary ? 1024 : 1000)
        guard !overflow else { return nil }
        bytes = product
      }
      self.bytes = bytes
    }
  }

  /// Whether output is for people or for programs.
  struct OutputOptions: ParsableArguments {
    @Flag(help: "One JSON object a line; documents in the form of Firestore's REST interface.")
    var json = false
  }

  /// A document's path (an even number of segments) or a collection's (an odd number).
  enum Position {
    case document(DocumentReference)
    case collection(CollectionReference)

    init(_ path: String, in db: Firestore) {
      let count = path.split(separator: "/").count
      self =
        count.isMultiple(of: 2) ? .document(db.document(path)) : .collection(db.collection(path))
    }
  }

  extension DocumentSnapshot {
    /// All fields on one line of at most `width` characters.
    func line(width: Int) throws -> String {
      try jsonFields?.fieldsBrief.clipped(to: width) ?? ""
    }
  }

  extension String {
    /// Truncated to `width`, at least 8, with an ellipsis.
    func clipped(to width: Int) -> String {
      let width = max(width, 8)
      return count > width ? prefix(width - 1) + "…" : self
    }

    func padded(to width: Int) -> String {
      self + String(repeating: " ", count: max(0, width - count))
    }

    func leftPadded(to width: Int) -> String {
      String(repeating: " ", count: max(0, width - count)) + self
    }
  }
#endif
