/// The options of the demo. Four do not need a parser, which would be built before anything is shown.
struct DemoArguments {
  var database: String?
  var index: String?
  var books = false
  var json = false

  /// An argument that is none of the options. Printed with what there is instead.
  struct Wrong: Error, CustomStringConvertible {
    let problem: String

    var description: String { "\(problem)\n\n\(DemoArguments.help)" }
  }

  /// Nil if help is asked for. Throws `Wrong`.
  init?(_ arguments: [String]) throws(Wrong) {
    // `--index=FILE` is `--index FILE`.
    var rest = arguments.flatMap { argument in
      argument.hasPrefix("--")
        ? argument.split(separator: "=", maxSplits: 1).map(String.init) : [argument]
    }[...]
    while let option = rest.popFirst() {
      switch option {
      case "--books": books = true
      case "--json": json = true
      case "--database", "--index":
        guard let path = rest.popFirst(), !path.hasPrefix("--") else {
          throw Wrong(problem: "\(option) needs a file.")
        }
        if option == "--index" { index = path } else { database = path }
      case "--help", "-h": return nil
      default: throw Wrong(problem: "The demo has no option \(option).")
      }
    }
  }

  static let help = """
    Put this machine's Debian package index into a database, live, and show the figures.

    Imports tens of thousands of packages through Codable models, reads some back, listens while one
    changes, reopens the file and compares everything. Checks what it says, and exits with 1 if anything
    does not hold. Without apt it takes a few books instead.

      --database FILE  Keep the database here; otherwise it is temporary.
      --index FILE     Read this file, in the format of apt-cache dumpavail.
      --books          Take the books, not the package index.
      --json           Print the figures as one JSON object.
    """
}
