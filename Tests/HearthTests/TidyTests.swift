import Foundation
import TestSupport
import Testing

/// The sources keep their order. Each failure says what to move where.
@Suite(.ownThreads) struct TidyTests {
  // MARK: Layers

  /// The folders of `Sources/HearthEngine` with their layers, and those of `Sources/Hearth`.
  static let engine = FolderTable("| Layer | Folder | Owns |", of: "Sources/HearthEngine")
  static let face = FolderTable("| Folder | Owns |", of: "Sources/Hearth")

  @Test(arguments: [engine, face])
  func `every file is in a folder that has its place`(table: FolderTable) {
    let folders = table.rows.map(\.folder)
    let files = SourceTree.swiftFiles(in: table.module)
    for file in files {
      #expect(
        table.row(of: file) != nil,
        """
        \(file.path) is in no folder that \(FolderTable.page) knows. Move it to one of \
        \(folders.joined(separator: ", ")), or give the new folder its place there.
        """)
    }
    for row in table.rows {
      #expect(
        files.contains { table.row(of: $0)?.folder == row.folder },
        "\(FolderTable.page) lists \(row.folder), which holds no file. Remove the row.")
    }
  }

  @Test func `a file mentions types of its own layer and below`() {
    let files = SourceTree.swiftFiles(in: "Sources/HearthEngine")
    #expect(files.count > 50, "The sources were not found at \(SourceTree.root.path).")
    let house = Set(Self.engine.rows.map(\.layer)).sorted().map { layer in
      files.filter { Self.engine.row(of: $0)?.layer == layer }
    }
    let layerBelow = Set(
      (["Sources/LMDB"] + Self.leaves).flatMap(SourceTree.swiftFiles(in:))
        .flatMap(\.declarations).map(\.name))
    for sentence in Self.upwardMentions(in: house, besides: layerBelow) {
      Issue.record("\(sentence)")
    }
  }

  /// Modules that know no database.
  static let leaves = ["Sources/HearthText", "Sources/HearthPatterns", "Sources/HearthGeometry"]

  @Test func `the text module imports nothing`() {
    let files = SourceTree.swiftFiles(in: "Sources/HearthText")
    #expect(!files.isEmpty, "TidyTests does not find HearthText.")
    for file in files {
      for (index, line) in file.code.enumerated()
      where line.split(separator: " ").contains("import") {
        Issue.record(
          """
          \(file.path):\(index + 1) imports a module. HearthText is below all others; move what needs more \
          than the standard library up, such as to HearthEngine/Support.
          """)
      }
    }
  }

  /// What lies below the seam is `internal` in the engine: the face has a backend, and nothing of what one is made
  /// of. The compiler enforces that as long as these stay so.
  static let belowTheSeam: Set<String> = [
    "Writer", "Store", "StoreSnapshot", "ListenerRegistry", "PlannedState", "CommitPlan",
    "DocumentName",
    "PendingWrites", "TTLSweeper", "ReadSet",
  ]

  @Test func `the face speaks to a backend and to nothing below`() {
    for file in SourceTree.swiftFiles(in: "Sources/Hearth") {
      #expect(
        !file.code.contains { $0.hasSuffix("import LMDB") },
        "\(file.path) imports LMDB. Ask the backend instead.")
    }
    let engine = SourceTree.swiftFiles(in: "Sources/HearthEngine")
    let declared = Set(engine.flatMap(\.declarations).map(\.name))
    #expect(Self.belowTheSeam.isSubset(of: declared), "TidyTests.belowTheSeam names no types.")
    for file in engine {
      for (index, line) in file.code.enumerated() {
        #expect(
          line != "import LMDB" && !line.hasPrefix("public import"),
          "\(file.path):\(index + 1) lets the face see what it imports. Write `internal import`.")
        let words = line.split { " :({<".contains($0) }.map(String.init)
        guard words.contains("package") || words.contains("public") else { continue }
        for (word, name) in zip(words, words.dropFirst())
        where ["struct", "class", "enum"].contains(word) && Self.belowTheSeam.contains(name) {
          Issue.record(
            """
            \(file.path):\(index + 1) opens \(name) to the face. Make what the face needs a verb of Backend, \
            or of LocalBackend.
            """)
        }
      }
    }
  }

  /// A sentence for each type that a file mentions and a higher layer declares.
  static func upwardMentions(in house: [[SourceFile]], besides known: Set<String>) -> [String] {
    var homes: [String: (layer: Int, path: String)] = [:]
    // From the top down, so that a name with two homes counts as the lower one's.
    for (layer, files) in house.enumerated().reversed() {
      for file in files {
        for type in file.declarations where type.isVisible { homes[type.name] = (layer, file.path) }
      }
    }
    var sentences: [String] = []
    var around = known
    for (layer, files) in house.enumerated() {
      // Nested and private types may share a name with one of a higher layer.
      around.formUnion(files.flatMap(\.declarations).map(\.name))
      for file in files {
        var told: Set<String> = []
        for (line, name) in file.mentions {
          guard let home = homes[name], home.layer > layer, !around.contains(name),
            told.insert(name).inserted
          else { continue }
          sentences.append(
            """
            \(file.path):\(line) mentions \(name), which lives higher up, in \(home.path). Move what \
            needs \(name) up into that folder (a facet such as \
            \(file.name.dropLast(6))+\(name).swift), or move \(name) down if it needs nothing from \
            up there.
            """)
        }
      }
    }
    return sentences
  }

  @Test func `a mention upwards is found, and what only looks like one is not`() {
    let low = SourceFile(
      path: "Sources/HearthEngine/Keys/Low.swift",
      text: """
        // High is not mentioned in a comment,
        struct Low {
          struct Own {}
          let text = "nor is High in a string, but \\(count) is code"
          var own: Own, part: Low.High
          /* nor /* here: High */ High */
        }
        """)
    let high = SourceFile(
      path: "Sources/HearthEngine/Storage/High.swift",
      text: "final class High { struct Nested {} }\nprivate enum Hidden {}\nstruct Own {}")
    #expect(Self.upwardMentions(in: [[low], [high]], besides: []).isEmpty)
    let wrong = SourceFile(
      path: "Sources/HearthEngine/Keys/Wrong.swift",
      text: "let a = \"\\(High.self)\"\nlet b = Own()")
    let sentences = Self.upwardMentions(in: [[wrong], [high]], besides: [])
    #expect(sentences.count == 2)
    #expect(sentences.first?.contains("Keys/Wrong.swift:1 mentions High") == true)
    #expect(Self.upwardMentions(in: [[wrong], [high]], besides: ["High", "Own"]).isEmpty)
  }

  @Test func `code is told from comments and strings in every source`() {
    for file in Self.sources + SourceTree.swiftFiles(in: "Tests") {
      for (open, close) in [("{", "}"), ("(", ")"), ("[", "]")] {
        let opened = file.code.joined().components(separatedBy: open).count
        let closed = file.code.joined().components(separatedBy: close).count
        #expect(
          opened == closed, "CodeScanner loses its way in \(file.path): \(open) and \(close).")
      }
    }
  }

  // MARK: Reasons

  @Test func `every promise that the compiler cannot check has its reason beside it`() {
    for file in Self.sources {
      for (index, line) in file.code.enumerated() {
        // A property's reason is its documentation; a type's stands on its own.
        let isType = line.contains("@unchecked Sendable")
        guard isType || line.contains("nonisolated(unsafe)") else { continue }
        let beside = file.lines[max(0, index - 2)...min(file.lines.count - 1, index + 4)]
        #expect(
          beside.contains { text in
            guard let comment = text.range(of: "//") else { return false }
            return !isType || !text[comment.lowerBound...].hasPrefix("///")
          },
          """
          \(file.path):\(index + 1) silences the compiler without a reason. Write beside it why it is \
          safe: `// Unchecked: …`.
          """)
      }
    }
  }

  @Test func `unchecked exclusivity has its reason in the type`() {
    for file in Self.sources
    where file.code.contains(where: { $0.contains("@exclusivity(unchecked)") }) {
      #expect(
        file.lines.contains { $0.contains("// Exclusivity is unchecked: ") },
        """
        \(file.path) turns off checks of exclusive access without a reason. Write in the type why no two \
        accesses overlap: `// Exclusivity is unchecked: …`.
        """)
    }
  }

  @Test func `nothing is forced`() {
    for file in Self.sources + SourceTree.swiftFiles(in: "Tests") {
      for (index, line) in file.code.enumerated() {
        for force in ["try" + "!", " as" + "! "] where line.contains(force) {
          Issue.record(
            """
            \(file.path):\(index + 1) has `\(force.trimmingCharacters(in: .whitespaces))`. Throw, or \
            unwrap with a guard that says what is wrong.
            """)
        }
      }
    }
  }

  // MARK: Leftovers

  @Test func `no leftovers stay in the tree`() {
    let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X:", "HA" + "CK"]
    for path in Self.texts {
      guard let text = SourceTree.text(of: path) else { continue }
      for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated()
      {
        for mark in marks where line.contains(mark) {
          Issue.record("\(path):\(index + 1) says \(mark). Do it now, or write an issue.")
        }
        if line.last == " " || line.last == "\t" {
          Issue.record("\(path):\(index + 1) ends with a space. Remove it.")
        }
      }
      #expect(text.isEmpty || text.hasSuffix("\n"), "\(path) does not end with a line break.")
    }
  }

  @Test func `the library prints nothing`() {
    let files =
      [
        "Sources/Hearth", "Sources/HearthEngine", "Sources/HearthTesting", "Sources/HearthText",
        "Sources/HearthPatterns", "Sources/HearthGeometry", "Sources/LMDB",
      ]
      .flatMap(SourceTree.swiftFiles(in:))
    for file in files {
      for (index, line) in file.code.enumerated() {
        let words = line.split(separator: " ")
        #expect(
          !words.contains { $0.hasPrefix("print(") || $0.hasPrefix("debugPrint(") },
          "\(file.path):\(index + 1) prints. Remove it, or log with Firestore.logger.")
      }
    }
  }

  @Test func `no file names a path of somebody's machine`() {
    let homes = ["/wo" + "rk/", "/ho" + "me/", "/ro" + "ot/", "/Us" + "ers/", "/t" + "mp/"]
    for path in Self.texts {
      guard let text = SourceTree.text(of: path) else { continue }
      for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated()
      {
        for home in homes where line.contains(home) {
          Issue.record(
            """
            \(path):\(index + 1) names a path in \(home). Find it from #filePath, the environment or \
            NSTemporaryDirectory().
            """)
        }
      }
    }
  }

  // MARK: Order

  @Test(arguments: [
    ("Sources/Hearth", "Tests/HearthTests"), ("Sources/HearthEngine", "Tests/HearthTests"),
    ("Sources/LMDB", "Tests/LMDBTests"), ("Sources/HearthText", "Tests/HearthTextTests"),
    ("Sources/HearthPatterns", "Tests/HearthPatternsTests"),
    ("Sources/HearthGeometry", "Tests/HearthGeometryTests"),
    ("Sources/HearthTesting", "Tests/HearthTestingTests"),
    ("Sources/HearthCLI", "Tests/HearthCLITests"),
  ])
  func `tests stand where their sources stand`(sources: String, tests: String) {
    let homes = Dictionary(
      SourceTree.swiftFiles(in: sources).map { ($0.name.dropLast(6), $0.folder(below: sources)) },
      uniquingKeysWith: { first, _ in first })
    for file in SourceTree.swiftFiles(in: tests) where file.name.hasSuffix("Tests.swift") {
      guard let home = homes[file.name.dropLast(11)] else { continue }
      #expect(
        file.folder(below: tests) == home,
        "\(file.path) tests a file of \(sources)/\(home). Move it to \(tests)/\(home).")
    }
  }

  /// Files of several small types, whose name is their subject.
  static let subjects: Set<String> = [
    "Descriptions", "DocumentValueTypes", "EncodingRules", "Exports",
    "FirebaseCore",
    "FirebaseFirestore",
    "FirebaseSharedSwift",
    "ErrorReporting", "MaintenanceCommands", "PlaceConstraints", "RecursiveQueries", "RoundTrip",
    "SetConstraints", "SnapshotListeners", "SnapshotSequences",
    "SnapshotsInSync", "SubqueryConstraints", "TextConstraints", "TimeConstraints",
    "UnavailableClasses",
  ]

  /// Programs, manifests and generated files of the examples are named as their readers expect.
  @Test func `a file is named after the type that it declares or extends`() {
    for file in Self.sources where !file.path.hasPrefix("Sources/Examples/") {
      let subject = String(file.name.dropLast(6).prefix { $0 != "+" })
      guard !Self.subjects.contains(subject) else { continue }
      let declaration = try? Regex(
        "\\b(struct|class|enum|protocol|actor|extension|typealias|macro) (\\w+\\.)*\(subject)\\b")
      #expect(
        declaration.map { pattern in file.code.contains { $0.contains(pattern) } } == true,
        """
        \(file.path) neither declares nor extends \(subject). Name it after what a reader will look for, or \
        add its subject to TidyTests.subjects.
        """)
    }
  }

  /// Words that `STYLE` replaces by plainer ones; see the prose of any public docstring for the tone.
  @Test func `comments are in plain technical English`() throws {
    let banned = try Regex("\\b(tells?|told|anew|besides|save for|stands)\\b").ignoresCase()
    let subject = try Regex("(^|[.:;] )(Who|What|Whoever|Whatever) [a-z]+ [^?]*$")
    for path in Self.texts where path.hasPrefix("Sources/") || path == "README.md" {
      guard let text = SourceTree.text(of: path) else { continue }
      let isMarkdown = path.hasSuffix(".md")
      var isCode = false
      for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
        .enumerated()
      {
        if isMarkdown, line.hasPrefix("```") { isCode.toggle() }
        let prose: Substring? =
          isMarkdown
          ? (isCode ? nil : line) : line.firstRange(of: "// ").map { line[$0.upperBound...] }
        guard let prose else { continue }
        let plain = prose.replacing(/`[^`]*`/, with: "")
        if plain.contains(banned) || plain.contains(subject) {
          Issue.record("\(path):\(index + 1) needs a second reading: \(prose)")
        }
      }
    }
  }

  @Test func `what is stored says so`() {
    let pattern = /static let \w+: UInt8 = |case \w+ = (0x)?[0-9]/
    for folder in ["Format", "Keys", "Storage", "TTL", "Indexing"] {
      for file in SourceTree.swiftFiles(in: "Sources/HearthEngine/" + folder) {
        guard let index = file.code.firstIndex(where: { $0.contains(pattern) }) else { continue }
        #expect(
          file.lines.contains { $0.contains("On disk") },
          """
          \(file.path):\(index + 1) has numbers that look stored. Write `// On disk. Changing a value \
          changes the file format; see DocumentFormat.md.` above them.
          """)
      }
    }
  }

  // MARK: What is read

  static var sources: [SourceFile] {
    SourceTree.swiftFiles(in: "Sources").filter { !isGenerated($0.path) }
  }

  /// Written by a tool, as Scripts/protocol.
  static func isGenerated(_ path: String) -> Bool { path.contains("/Generated/") }

  /// Every text of the package that people wrote.
  static var texts: [String] {
    let endings = ["swift", "md", "h", "modulemap", "sh"]
    let folders = ["Sources", "Tests", "Benchmarks", "Scripts", ".ci"]
    let inFolders = folders.flatMap(SourceTree.files(in:)).filter { path in
      let name = path.split(separator: "/").last ?? ""
      return !path.contains("/Resources/") && !isGenerated(path)
        && (!name.contains(".") || endings.contains { name.hasSuffix("." + $0) })
    }
    return inFolders + ["Package.swift", "README.md"]
  }
}
