#if Server
  import HearthEngine
  import Logging

  /// The open files that are no longer at their paths: they were moved, replaced or removed. Reads show
  /// what they have, and all writes fail.
  struct MisplacedFiles {
    private var paths: Set<String> = []
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    var isEmpty: Bool { paths.isEmpty }

    /// Looks at the files that are open now. Logs an error for each that is misplaced, once.
    mutating func update(_ files: [any FileBackend]) {
      var misplaced: Set<String> = []
      for file in files {
        let path = file.path
        let wasMisplaced = paths.contains(path)
        if !file.isInPlace {
          misplaced.insert(path)
          guard !wasMisplaced else { continue }
          logger.error(
            """
            A served file was moved, replaced or removed. Writes to it fail until it is back, or until the \
            server is restarted.
            """,
            metadata: ["path": "\(path)"])
        } else if wasMisplaced {
          logger.notice("A served file is at its path again.", metadata: ["path": "\(path)"])
        }
      }
      paths = misplaced
    }
  }
#endif
