import FirebaseFirestore
import Foundation
import TestSupport
import Testing

/// What the README shows compiles, runs, and is what it shows.
@Suite struct ReadmeTests {
  @Test func `every snippet is compiled, line for line`() throws {
    let readme = try #require(SourceTree.text(of: "README.md"))
    let landing = try #require(SourceTree.text(of: "Sources/Hearth/Hearth.docc/Hearth.md"))
    let compiled = try ["Tests/HearthTests/Documentation/Snippets.swift", "Package.swift"].map {
      Self.lines(try #require(SourceTree.text(of: $0))).joined(separator: "\n")
    }
    let blocks = Self.swiftBlocks(readme) + Self.swiftBlocks(landing)
    #expect(blocks.count > 3)
    for block in blocks where !block.hasPrefix("// Package.swift") {
      let text = Self.lines(block).joined(separator: "\n")
      #expect(
        compiled[0].contains(text),
        "This snippet is not in Tests/HearthTests/Documentation/Snippets.swift:\n\(block)")
    }
  }

  @Test(arguments: [
    (
      "Sources/Hearth/Hearth.docc/Models.md",
      "Tests/HearthTests/Documentation/ModelsGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/TypedModels.md",
      "Tests/HearthMacrosTests/TypedModelsGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Queries.md",
      "Tests/HearthTests/Documentation/QueriesGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Constraints.md",
      "Tests/HearthTests/Documentation/ConstraintsGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Errors.md",
      "Tests/HearthTests/Documentation/ErrorsGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Writes.md",
      "Tests/HearthTests/Documentation/WritesGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Listeners.md",
      "Tests/HearthTests/Documentation/ListenersGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Paging.md",
      "Tests/HearthTests/Documentation/PagingGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/ModelsOverHTTP.md",
      "Tests/HearthTests/Documentation/ModelsOverHTTPGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Production.md",
      "Tests/HearthTests/Documentation/ProductionGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/PostgreSQL.md",
      "Tests/HearthTests/Documentation/PostgreSQLGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Maintenance.md",
      "Tests/HearthTests/Documentation/MaintenanceGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/SchemaChanges.md",
      "Tests/HearthTests/Documentation/SchemaChangesGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/FromFirebase.md",
      "Tests/HearthTests/Documentation/FromFirebaseGuideTests.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/FromGRDB.md",
      "Tests/HearthTests/Documentation/FromGRDBGuideTests.swift"
    ),
    (
      "Sources/HearthService/HearthService.docc/HearthService.md",
      "Tests/HearthServiceTests/ServicesGuideTests.swift"
    ),
    (
      "Sources/HearthServer/HearthServer.docc/HearthServer.md",
      "Tests/HearthServerTests/ServerGuideTests.swift"
    ),
    (
      "Sources/ParseSwift/ParseSwift.docc/ParseSwift.md",
      "Tests/ParseSwiftTests/GuideTests.swift"
    ),
    (
      "Sources/ParseSwift/ParseSwift.docc/Storage.md",
      "Tests/ParseSwiftTests/GuideTests.swift"
    ),
    (
      "Sources/FirebaseDataConnect/FirebaseDataConnect.docc/FirebaseDataConnect.md",
      "Tests/FirebaseDataConnectTests/GuideTests.swift"
    ),
    (
      "Sources/FirebaseDataConnect/FirebaseDataConnect.docc/ChangingSchemas.md",
      "Tests/FirebaseDataConnectTests/GuideTests.swift"
    ),
    (
      "Sources/FirebaseDataConnect/FirebaseDataConnect.docc/Emulator.md",
      "Tests/FirebaseDataConnectTests/GuideTests.swift"
    ),
    (
      "Sources/HearthTesting/HearthTesting.docc/HearthTesting.md",
      "Tests/HearthTestingTests/DocumentationTests.swift"
    ),
  ])
  func `every snippet of a page is compiled`(page: String, tests: String) throws {
    let compiled = Self.lines(try #require(SourceTree.text(of: tests))).joined(separator: "\n")
    let blocks = Self.swiftBlocks(try #require(SourceTree.text(of: page)))
    #expect(!blocks.isEmpty)
    for block in blocks
    where !block.hasPrefix(".testTarget") && !block.hasPrefix("// Package.swift") {
      #expect(
        compiled.contains(Self.lines(block).joined(separator: "\n")),
        "This snippet of \(page) is not in \(tests):\n\(block)")
    }
  }

  @Test func `every page with a snippet is in the list above`() throws {
    let list = try #require(
      SourceTree.text(of: "Tests/HearthTests/Documentation/ReadmeTests.swift"))
    let pages = SourceTree.files(in: "Sources").filter {
      $0.contains(".docc/") && $0.hasSuffix(".md")
    }
    #expect(pages.count > 20)
    for page in pages {
      let text = try #require(SourceTree.text(of: page))
      #expect(
        Self.swiftBlocks(text).isEmpty || list.contains("\"\(page)\""),
        "\(page) has snippets. Add it here, with the test that compiles them.")
    }
  }

  @Test func `every page is among the topics of its module`() throws {
    let pages = SourceTree.files(in: "Sources").filter {
      $0.contains(".docc/") && $0.hasSuffix(".md")
    }
    for (folder, pages) in Dictionary(
      grouping: pages, by: { NSString(string: $0).deletingLastPathComponent })
    where pages.count > 1 {
      let module = NSString(string: NSString(string: folder).lastPathComponent)
        .deletingPathExtension
      let root = try #require(SourceTree.text(of: "\(folder)/\(module).md"))
      for page in pages where page != "\(folder)/\(module).md" {
        let name = NSString(string: NSString(string: page).lastPathComponent).deletingPathExtension
        #expect(root.contains("\n- <doc:\(name)>\n"), "\(module).md does not list \(name).")
      }
    }
  }

  @Test func `the first program has thirty lines or fewer`() throws {
    let readme = try #require(SourceTree.text(of: "README.md"))
    let first = try #require(Self.swiftBlocks(readme).first)
    #expect(first.split(separator: "\n", omittingEmptySubsequences: false).count <= 30)
  }

  @Test func `the first program is an example that is built`() throws {
    let readme = try #require(SourceTree.text(of: "README.md"))
    let first = try #require(Self.swiftBlocks(readme).first)
    #expect(first + "\n" == SourceTree.text(of: "Sources/Examples/FirstProgram/main.swift"))
  }

  /// Code that needs packages which Hearth does not have, so that no test of its own compiles it.
  @Test(arguments: [
    (
      "Sources/Hearth/Hearth.docc/Errors.md", "struct ErrorResponses",
      "Sources/Examples/Bookshop/ErrorResponses.swift"
    ),
    (
      "Sources/Hearth/Hearth.docc/Errors.md", "/// The status of a response",
      "Sources/Examples/Bookshop/ErrorResponses.swift"
    ),
    (
      "Sources/HearthTesting/HearthTesting.docc/HearthTesting.md", "@Test func `a missing book",
      "Sources/Examples/Tests/BookshopTests/BookshopTests.swift"
    ),
  ])
  func `code of the examples is shown as it is`(page: String, start: String, example: String) throws
  {
    let text = try #require(SourceTree.text(of: page))
    let block = try #require(
      text.components(separatedBy: "\n```").first {
        $0.hasPrefix("\n" + start) || $0.hasPrefix("swift\n" + start)
      })
    let code = Self.lines(try #require(SourceTree.text(of: example))).joined(separator: "\n")
    let lines = Self.lines(block).filter { $0 != "swift" }
    #expect(!lines.isEmpty && code.contains(lines.joined(separator: "\n")))
  }

  @Test func `files that the README names are there`() throws {
    let readme = try #require(SourceTree.text(of: "README.md"))
    let links = readme.components(separatedBy: "](").dropFirst().compactMap {
      $0.components(separatedBy: ")").first
    }
    #expect(links.count >= 4)
    for link in links where !link.contains("://") {
      #expect(SourceTree.text(of: link) != nil, "The README links to \(link), which is not there.")
    }
    for script in ["Scripts/demo", "Scripts/test"] {
      #expect(readme.contains(script) && SourceTree.text(of: script) != nil)
    }
  }

  @Test func `the first program does what it says`() async throws {
    let printed = Snippets.Output()
    try await Snippets(folder: TemporaryFolder(), output: printed).firstProgram()
    // What the listener prints comes when it comes.
    #expect(printed.lines.filter { !$0.hasSuffix("ed dune") } == ["dune Dune 418"])
  }

  @Test func `the queries and the batch do what they say`() async throws {
    let printed = Snippets.Output()
    let folder = TemporaryFolder()
    let db = try FirebaseFirestore.Firestore.open(at: folder.path + "/queries.hearth")
    for (id, title, pages) in [("dune", "Dune", 412), ("emma", "Emma", 474), ("draft", "?", 3)] {
      try await db.document("books/\(id)").setData(["title": title, "pages": pages])
    }
    try await Snippets(folder: folder, output: printed).queries(db)
    #expect(printed.lines == ["Emma", "Dune", "2"])
    let dune = try await db.document("books/dune").getDocument()
    #expect(dune["pages"] as? Int == 413)
    #expect(try await db.collection("books").getDocuments().count == 2)
  }

  @Test(.embedded("Indexes are the embedded engine's."))
  func `the write and the index do what they say`() async throws {
    let printed = Snippets.Output()
    let folder = TemporaryFolder()
    let snippets = Snippets(folder: folder, output: printed)
    let db = try FirebaseFirestore.Firestore.open(at: folder.path + "/writing.hearth")
    try await db.document("books/dune").setData(["copies": 1, "author": "Frank Herbert"])
    #expect(try await snippets.writing(db) == 0)
    await #expect(throws: Snippets.OutOfPrint.self) { try await snippets.writing(db) }
    try await snippets.indexes(db)
    #expect(printed.lines.count == 1 && printed.lines[0].contains("author"))
  }

  @Test func `a database in memory leaves no file`() throws {
    let folder = TemporaryFolder()
    try Snippets(folder: folder, output: Snippets.Output()).memory()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  /// The texts between ```swift and ```.
  private static func swiftBlocks(_ markdown: String) -> [String] {
    markdown.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "\n```").first
    }
  }

  /// Without indentation, empty lines and imports: those stand where a snippet cannot.
  private static func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("import ") }
  }
}
