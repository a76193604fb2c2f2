import CompilerCheck
import Foundation
import TestSupport
import Testing

/// Every piece of Swift in the documentation of a public declaration compiles.
@Suite(.ownThreads) struct DocstringSnippetTests {
  /// A block that is not Swift.
  struct Other {
    enum Kind { case diagram, graphQL, json, layout, output, shell, syntax, table, yaml }

    var kind: Kind
    /// From `Sources`.
    var path: String
    /// How the block's first line begins.
    var start: String

    init(_ kind: Kind, _ path: String, _ start: String) {
      self.kind = kind
      self.path = path
      self.start = start
    }

    func names(_ block: DocstringBlock) -> Bool {
      block.path == "Sources/" + path && block.lines.first?.hasPrefix(start) == true
    }
  }

  static let others = [
    Other(.shell, "FirebaseDataConnect/DataConnect.swift", "$ hearth dataconnect emulator"),
    Other(.diagram, "HearthCEL/CELExpression.swift", "text ──parse──▶"),
    Other(.syntax, "HearthCEL/CELExpression.swift", "c ? a : b"),
    Other(.table, "HearthCEL/CELExpression+NullMatches.swift", "vars.owner == auth.uid"),
    Other(.layout, "HearthDataConnect/Generator/SwiftGenerator.swift", "Movies/"),
    Other(.yaml, "HearthDataConnect/Project/ConnectorConfiguration.swift", "connectorId:"),
    Other(.layout, "HearthDataConnect/Project/DataConnectProject.swift", "firebase.json"),
    Other(.layout, "HearthDataConnect/Project/PackageWriter.swift", "Movies/"),
    Other(.yaml, "HearthDataConnect/Project/ServiceConfiguration.swift", "specVersion:"),
    Other(.diagram, "HearthMacrosPlugin/DocumentMacro.swift", "declaration ─▶"),
    Other(.output, "HearthTesting/RoundTrip.swift", "Book came back changed"),
    Other(.diagram, "DataConnectModel/CompiledConnector.swift", "schema.gql ──┐"),
    Other(.table, "DataConnectModel/InputShape.swift", "[Movie_Filter!]"),
    Other(.table, "DataConnectModel/Relation.swift", "Review.movie: Movie!"),
    Other(.graphQL, "DataConnectModel/Operation.swift", "mutation Rename"),
    Other(.graphQL, "DataConnectModel/Schema.swift", "type Review"),
    Other(.json, "HearthEngine/Indexing/IndexInfo.swift", "{\"collectionGroup\":"),
    Other(.diagram, "LMDB/Environment.swift", "read {}  ─▶"),
    Other(.diagram, "LMDB/LeafReader.swift", "branch pages ─▶"),
    Other(.diagram, "LMDB/PageWalk.swift", "header ─▶"),
  ]

  /// What the package was built with.
  static let traits: Set<String> = {
    var traits: Set<String> = []
    #if Macros
      traits.insert("Macros")
    #endif
    #if Postgres
      traits.insert("Postgres")
    #endif
    #if Server
      traits.insert("Server")
    #endif
    #if Service
      traits.insert("Service")
    #endif
    #if Tools
      traits.insert("Tools")
    #endif
    return traits
  }()

  static let allTraits: Set = ["Macros", "Postgres", "Server", "Service", "Tools"]

  static let blocks = SourceTree.swiftFiles(in: "Sources")
    .filter { !$0.path.hasPrefix("Sources/Examples/") && !$0.path.contains("/Generated/") }
    .flatMap(DocstringBlock.blocks(in:))

  /// Without those of `others`.
  static let snippets = blocks.filter { block in !others.contains { $0.names(block) } }

  @Test func `every snippet in a docstring compiles`() throws {
    let check = CompilerCheck(besides: Bundle.module)
    var compiled = 0
    for setting in DocstringSetting.all where setting.trait.map(Self.traits.contains) ?? true {
      let blocks = Self.snippets.filter { block in
        setting.modules.contains(block.module) && Self.isBuilt(block)
      }
      let sources = blocks.enumerated().map { number, block in
        let imports = setting.imports + (block.usesMacros ? ["HearthMacros"] : [])
        let context = setting.contexts.first { block.path.hasPrefix($0.path) }?.type
        return block.source(number, imports: imports, context: context)
      }
      // The last one shows that the compiler gets as far as types.
      let errors = try check.errors(
        in: sources.map(\.text) + ["let wrong: Int = \"text\"\n"],
        models: setting.imports.map { "import \($0)\n" }.joined() + setting.prelude,
        flags: ["-suppress-warnings"] + check.dependencyFlags)
      #expect(errors[0].isEmpty, "The prelude of \(setting.modules): \(errors[0])")
      #expect(errors.last?.count == 1, "The compiler did not check \(setting.modules).")
      for (index, block) in blocks.enumerated() {
        for error in errors[index + 1] {
          // An error behind the last line is of a snippet without its end.
          let lines = sources[index].lines
          let line = (error.line <= lines.count ? lines[error.line - 1] : nil) ?? block.line
          let notes = error.notes.map { " (\($0))" }.joined()
          Issue.record("\(block.path):\(line): \(error.text)\(notes)")
        }
      }
      compiled += blocks.count
    }
    let kinds = Dictionary(grouping: Self.others, by: \.kind)
      .map { "\($0.value.count) \($0.key)" }.sorted().joined(separator: ", ")
    print("Docstrings: \(compiled) snippets compiled, the others are not Swift: \(kinds)")
    // Those of traits are not always among them.
    #expect(Self.snippets.count >= 234)
    #expect(compiled >= 227)
  }

  @Test func `every block that is not Swift is there, and every module has a setting`() {
    for other in Self.others {
      #expect(
        Self.blocks.count { other.names($0) } == 1,
        "\(other.path) has no block, or several, that begin with \(other.start)")
    }
    let modules = Set(DocstringSetting.all.flatMap(\.modules))
    for block in Self.snippets where !modules.contains(block.module) {
      Issue.record(
        "\(block.path):\(block.line) is a snippet of a module that DocstringSetting does not have.")
    }
  }

  /// Whether the package's traits are those that the declaration and the snippet need.
  private static func isBuilt(_ block: DocstringBlock) -> Bool {
    guard !block.usesMacros || traits.contains("Macros") else { return false }
    return block.conditions.allSatisfy { condition in
      condition.split(separator: "&").allSatisfy { term in
        let term = term.trimmingCharacters(in: .whitespaces)
        let isNegated = term.hasPrefix("!")
        let name = isNegated ? String(term.dropFirst()) : term
        return !allTraits.contains(name) || traits.contains(name) != isNegated
      }
    }
  }

  // MARK: The finder

  @Test func `blocks of public declarations are found, with the conditions around them`() {
    let file = SourceFile(
      path: "Sources/Hearth/Sample.swift",
      text: """
        /// A type.
        ///
        ///     first()
        ///
        ///     // The same block.
        @frozen
        public struct Sample {
          /// Not public.
          ///
          ///     hidden()
          var hidden = 0
          #if Macros
            /// ```swift
            /// second()
            /// ```
            @attached(
              member, names: named(init))
            public macro Second()
          #endif
        }
        public enum Kind {
          /// A case.
          ///
          ///     third()
          case one
          /// Not public.
          ///
          ///     hidden()
          func hidden() {}
        }
        public protocol Part {
          /// A requirement.
          ///
          ///     fourth()
          func all(
            of parts: [Int]
          )
        }
        """)
    let blocks = DocstringBlock.blocks(in: file)
    #expect(blocks.map { $0.lines[0] } == ["first()", "second()", "third()", "fourth()"])
    #expect(blocks.map(\.line) == [3, 14, 24, 34])
    #expect(blocks.first?.lines == ["first()", "", "// The same block."])
    #expect(blocks.map(\.conditions) == [[], ["Macros"], [], []])
    #expect(blocks.map(\.language) == [nil, "swift", nil, nil])
  }

  @Test func `a snippet has a function of its own, and a file if it needs one`() {
    func source(_ lines: [String]) -> [String] {
      let block = DocstringBlock(path: "", line: 7, lines: lines, language: nil, conditions: [])
      let source = block.source(1, imports: ["Hearth"], context: nil)
      #expect(source.lines.compactMap(\.self) == Array(7..<7 + lines.count))
      return source.text.split(separator: "\n").map(String.init)
    }
    #expect(
      source(["let book = try await dune.getDocument()"]) == [
        "import Hearth", "func snippet1() async throws {",
        "let book = try await dune.getDocument()", "}",
      ])
    #expect(
      source(["struct Book {}", "extension Book {}", "print(Book.self)"]) == [
        "import Hearth", "struct Book1 {}", "extension Book1 {}", "func snippet1() throws {",
        "print(Book1.self)", "}",
      ])
  }
}
