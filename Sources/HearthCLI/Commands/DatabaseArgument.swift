#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  /// The database that a command uses.
  struct DatabaseArgument: ParsableArguments {
    @Argument(
      help: "The database: a file, or the URL of one on a server, postgresql://….",
      completion: .file(extensions: ["hearth"]))
    var database: DatabaseLocation
    @OptionGroup var map: MapSizeOption
  }

  /// The address space for files.
  struct MapSizeOption: ParsableArguments {
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
  }

  /// The path of a database file, or the URL of a database on a server.
  struct DatabaseLocation: ExpressibleByArgument, Sendable {
    let text: String

    init(argument text: String) { self.text = text }

    enum Access {
      case reading
      /// As `reading`; opening a file reads every page first.
      case validating
      /// As `reading`, but as one of a server's writers, whose times are exact.
      case copying
      case writing, making
    }

    /// A file that nobody opens as a database.
    var asFile: FirestoreFile { FirestoreFile(at: text) }

    var isServer: Bool { text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") }

    /// The text without a password, for messages.
    var name: String {
      guard isServer else { return text }
      guard var parts = URLComponents(string: text) else { return "the database" }
      parts.password = nil
      parts.queryItems = parts.queryItems?.filter { !$0.name.hasSuffix("password") }
      return parts.string ?? "the database"
    }

    /// Whether both are the same URL, or lead to the same place.
    func isSame(as other: DatabaseLocation) -> Bool {
      func place(_ location: DatabaseLocation) -> String {
        location.isServer
          ? location.text
          : URL(fileURLWithPath: location.text).standardizedFileURL.resolvingSymlinksInPath().path
      }
      return place(self) == place(other)
    }

    func mustExist() throws {
      guard isServer || FileManager.default.fileExists(atPath: text) else {
        throw Failure("There is no database at \(text.legible).")
      }
    }

    /// Refuses a database on a server, for a command that works on files.
    func mustBeFile(_ command: String) throws {
      guard isServer else { return }
      throw Failure(
        "hearth \(command) works on files only. To have \(name) in a file, use hearth copy.")
    }

    /// Opens the database, runs `body`, and closes it. Only `making` creates a file that does not
    /// exist.
    func open(_ access: Access, _ body: (Firestore) async throws -> Void) async throws {
      if access != .making { try mustExist() }
      let db = try open(access)
      try await db.closed { try await body(db) }
    }

    private func open(_ access: Access) throws -> Firestore {
      let settings = FirestoreSettings()
      if isServer {
        #if Postgres
          settings.isReadOnly = access == .reading || access == .validating
          return try Firestore.open(text, settings: settings)
        #else
          throw Failure(
            "hearth was built without PostgreSQL. Build it with the trait Postgres: "
              + "swift build --traits Tools,Postgres")
        #endif
      }
      settings.isReadOnly = access != .writing && access != .making
      settings.validatesPagesOnOpen = access == .validating
      return try Firestore.open(at: text, settings: settings)
    }
  }

  extension Firestore {
    /// Closes the database after `body`, also after an error.
    func closed(after body: () async throws -> Void) async throws {
      do {
        try await body()
      } catch {
        try? await terminate()
        throw error
      }
      try await terminate()
    }
  }

  /// `512MB`, `8GiB`, `1000000`: decimal units, or binary ones with an i.
  struct ByteCount: ExpressibleByArgument {
    let bytes: Int

    init?(argument: String) {
      guard let bytes = Int(byteCount: argument) else { return nil }
      self.bytes = bytes
    }
  }
#endif
