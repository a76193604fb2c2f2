#if Server
  import HearthEngine
  internal import HearthText

  /// The name of a database, and of what is in it.
  ///
  ///     projects/p/databases/(default)                            the database
  ///     projects/p/databases/(default)/documents                  its root
  ///     projects/p/databases/(default)/documents/books/dune       a document
  package struct DatabaseName: Hashable, Sendable {
    package let project: String
    package let database: String

    package init(project: String, database: String) {
      self.project = project
      self.database = database
    }

    package var text: String { "projects/\(project)/databases/\(database)" }

    /// The name of the database's root.
    private var root: String { text + "/documents" }

    /// The name of a document, or of the root.
    func name(of path: ResourcePath) -> String { path.isRoot ? root : root + "/" + path.text }

    /// Parses the name of a database.
    init(_ name: String) throws(Status) {
      let rest: ArraySlice<String>
      (self, rest) = try Self.parse(name)
      guard rest.isEmpty else { throw Self.invalid(name, "is not the name of a database") }
    }

    /// Parses the name of a document or, if `allowsRoot`, of a database's root.
    static func parse(
      document name: String, allowsRoot: Bool = false
    ) throws(Status) -> (DatabaseName, ResourcePath) {
      let (database, rest) = try parse(name)
      guard rest.first == "documents" else {
        throw invalid(name, "lacks \"documents\" after its database")
      }
      let path = ResourcePath(Array(rest.dropFirst()))
      guard path.isDocument || path.isRoot && allowsRoot else {
        throw invalid(name, "lacks \"/\" at index \(name.utf8.count)")
      }
      return (database, path)
    }

    /// The path of a document of this database.
    func path(of name: String) throws(Status) -> ResourcePath {
      let (database, path) = try Self.parse(document: name)
      guard database == self else { throw Self.invalid(name, "is not of database \"\(text)\"") }
      return path
    }

    private static func parse(
      _ name: String
    ) throws(Status) -> (DatabaseName, ArraySlice<String>) {
      // By bytes: a slash separates, even if a combining accent follows it.
      let parts = name.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        .map { String(Substring($0)) }
      guard parts.count >= 4, parts[0] == "projects", parts[2] == "databases" else {
        throw invalid(name, "does not begin with \"projects/…/databases/…\"")
      }
      let isID = { @Sendable (id: String) in
        id == "(default)"
          || (1...100).contains(id.utf8.count) && id.utf8.allSatisfy(isAllowed)
            && id.utf8.first?.isASCIIAlphanumeric == true
      }
      // These become the names of a folder and a file.
      guard parts[1] != "(default)", isID(parts[1]), isID(parts[3]) else {
        throw invalid(name, "has an invalid project or database id")
      }
      return (DatabaseName(project: parts[1], database: parts[3]), parts[4...])
    }

    /// Projects of a domain have a colon and dots in their ids.
    private static func isAllowed(_ byte: UInt8) -> Bool {
      byte.isASCIIAlphanumeric || "-_.:".utf8.contains(byte)
    }

    private static func invalid(_ name: String, _ problem: String) -> Status {
      .invalidArgument("Resource name \"\(name)\" \(problem).")
    }
  }
#endif
