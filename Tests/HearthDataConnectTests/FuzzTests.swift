import ProcessorTime
import TestSupport
import Testing

@testable import HearthDataConnect

/// No input traps the compiler, and every diagnostic has a place in its file.
@Suite struct `Fuzz` {
  private static let sources = [
    (Fixtures.guideSchema, Fixtures.guideOperations),
    (Fixtures.recipeSchema, Fixtures.recipeOperations),
    (Fixtures.sinkSchema, Fixtures.sinkOperations),
    (Fixtures.realtimeSchema, Fixtures.realtimeOperations.joined(separator: "\n")),
  ]

  private static let words =
    "type enum extend query mutation fragment on Recipe Cook @table @auth @refresh @check @ref @unique "
    + "( ) { } [ ] : = ! $ & | ... , # \" \"\"\" ' \\ recipes recipe_insert data where id key first "
    + "_and _or _expr eq null true 1 -1 1.5 \"x\" $id $x UUID! Int String [String!] level PUBLIC "
    + "name tastings_on_recipe ingredients_via_RecipeIngredient _count cook recipe stars \n é 😀"

  private func check(_ schema: String, _ operations: String, _ note: @autoclosure () -> String) {
    let result = Fixtures.compile(schema, operations)
    let hasErrors = result.diagnostics.contains { $0.severity == .error }
    #expect((result.connector == nil) == hasErrors, "\(note())")
    for diagnostic in result.diagnostics {
      let text = diagnostic.path == "schema.gql" ? schema : operations
      let lines = text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }
      // Carriage returns end lines too, and only mutations have them.
      guard !text.contains("\r") else { continue }
      let isInside =
        diagnostic.line >= 1 && diagnostic.line <= lines.count && diagnostic.column >= 1
        && diagnostic.column <= lines[diagnostic.line - 1].count + 1
      #expect(isInside, "\(diagnostic) \(note())")
      #expect(!diagnostic.message.isEmpty)
    }
  }

  @Test(arguments: 0..<40)
  func `random bytes`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<20 {
      let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random)
      }
      let text = String(decoding: bytes, as: UTF8.self).replacing("\r", with: "")
      check(text, text, "seed \(seed)")
    }
  }

  @Test(arguments: 0..<40)
  func `soups of tokens`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed) &+ 1000)
    let words = Self.words.split(separator: " ").map(String.init) + [" ", "\n"]
    for _ in 0..<20 {
      let text = (0..<Int.random(in: 0...150, using: &random)).map { _ in
        words.randomElement(using: &random) ?? ""
      }.joined(separator: " ")
      check(text, text, "seed \(seed)")
      check(Fixtures.recipeSchema, "query A { recipes { \(text) } }", "seed \(seed)")
      check(
        "type Recipe @table { id: UUID! \(text) }", "query A { recipes { id } }", "seed \(seed)")
    }
  }

  @Test(arguments: 0..<60)
  func `changed sources`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed) &+ 2000)
    for (schema, operations) in Self.sources {
      for _ in 0..<6 {
        let changesSchema = Bool.random(using: &random)
        let changed = change(changesSchema ? schema : operations, &random)
        check(
          changesSchema ? changed : schema, changesSchema ? operations : changed, "seed \(seed)")
      }
    }
  }

  /// Deletes, repeats, swaps and replaces tokens.
  private func change(_ text: String, _ random: inout SeededGenerator) -> String {
    var tokens: [String] = []
    var current = ""
    for character in text {
      if character.isLetter || character.isNumber || character == "_" {
        current.append(character)
      } else {
        if !current.isEmpty { tokens.append(current) }
        current = ""
        tokens.append(String(character))
      }
    }
    tokens.append(current)
    let words = Self.words.split(separator: " ").map(String.init)
    for _ in 0..<Int.random(in: 1...6, using: &random) where tokens.count > 3 {
      let index = Int.random(in: 0..<tokens.count, using: &random)
      let other = Int.random(in: 0..<tokens.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: tokens.remove(at: index)
      case 1: tokens.insert(tokens[index], at: index)
      case 2: tokens.swapAt(index, other)
      case 3: tokens[index] = words.randomElement(using: &random) ?? ""
      default:
        let range = min(index, other)..<min(max(index, other), min(index, other) + 40)
        tokens.insert(contentsOf: Array(tokens[range]), at: index)
      }
    }
    return tokens.joined()
  }

  @Test func `many errors end in bounded time`() {
    var schema = ""
    for n in 0..<200 { schema += "type Table\(n) @table { name\(n): String  x: Int }\n" }
    var operations = ""
    for n in 0..<2000 { operations += "query Q\(n) { tabel\(n) { nmae\(n) } table1s { z\(n) } }\n" }
    let began = ProcessorTime.ofThread
    _ = Fixtures.compile(schema, operations)
    #expect(ProcessorTime.ofThread - began < .seconds(60))
  }
}
