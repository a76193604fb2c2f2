#if Macros
  import CompilerCheck
  import Foundation
  import Testing

  /// Each wrong declaration is reported at the code to change, in words that say how.
  @Suite struct WrongDeclarationTests {
    struct Wrong: CustomTestStringConvertible {
      var source: String
      /// Marked by the compiler.
      var code: String
      var message: String
      /// What a fix-it offers.
      var fix: String?
      var testDescription: String { source }

      init(_ source: String, at code: String, _ message: String, fix: String? = nil) {
        self.source = source
        self.code = code
        self.message = message
        self.fix = fix
      }
    }

    private static let models = """
      protocol P {}
      final class B: Codable {}
      func make() -> Int { 1 }
      @propertyWrapper struct Clamped: Codable { var wrappedValue: Int }
      """

    static let all: [Wrong] = [
      // Kinds of types
      Wrong("@Document class A: Codable { var x = 1 }", at: "@Document", "a class is neither"),
      Wrong("@Document actor A { var x = 1 }", at: "@Document", "an actor is neither"),
      Wrong("@Document protocol A {}", at: "@Document", "this is neither"),
      Wrong("@Document struct A: ~Copyable { var x: Int }", at: "A", "has to be copyable"),
      Wrong("@Document enum A: ~Copyable { case x }", at: "A", "has to be copyable"),
      Wrong("@Document enum A: Codable {}", at: "A", "without cases"),
      Wrong("@Document enum A: Character { case x = \"x\" }", at: "Character", "strings, integers"),
      Wrong(
        "@Document private struct A: Codable { var x = 1 }", at: "private",
        "A private type inside of another", fix: "make it fileprivate"),
      Wrong(
        "@Document struct A: Codable {\n#if DEBUG\n  var x = 1\n#endif\n}", at: "#if",
        "which members of '#if'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; struct Fields {} }", at: "Fields",
        "uses the name 'Fields'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; enum Decoder {} }", at: "Decoder",
        "uses the name 'Decoder'"),
      Wrong(
        "@Document struct A: Codable { var Fields: Int }", at: "Fields", "uses the name 'Fields'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; var Field: Int { 1 } }", at: "Field",
        "uses the name 'Field'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; func Fields() {} }", at: "Fields",
        "uses the name 'Fields'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; static func fields() -> Int { 1 } }",
        at: "fields",
        "uses the name 'fields'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; static var fields: [Int] { [] } }", at: "fields",
        "uses the name 'fields'"),
      Wrong(
        "@Document struct A: Codable { var x = 1; static let documentFields = 1 }",
        at: "documentFields", "uses the name 'documentFields'"),
      // Coding of its own
      Wrong(
        "@Document struct A: Codable { var x: Int; init(from decoder: any Decoder) throws { x = 1 } }",
        at: "init", "as the compiler's 'init(from:)'"),
      Wrong(
        "@Document struct A: Codable { var x: Int; func encode(to encoder: Encoder) throws {} }",
        at: "encode", "as the compiler's 'encode(to:)'"),
      Wrong(
        "@Document enum A: String, Codable { case x; init(from d: Decoder) throws { self = .x } }",
        at: "init", "as the compiler's 'init(from:)'"),
      // Properties
      Wrong(
        "@Document struct A: Codable { lazy var x = 1 }", at: "lazy", "a property that is lazy",
        fix: "remove 'lazy'"),
      Wrong(
        "@Document struct A: Codable { weak var x: B? }", at: "weak", "a property that is weak",
        fix: "remove 'weak'"),
      Wrong(
        "@Document struct A: Codable { unowned let x: B }", at: "unowned",
        "a property that is unowned",
        fix: "remove 'unowned'"),
      Wrong(
        "@Document struct A: Codable { var x = make() }", at: "x", "does not see the type of 'x'",
        fix: "add a type"),
      Wrong(
        "@Document struct A: Codable { var x = [1, 2] }", at: "x", "does not see the type of 'x'",
        fix: "add a type"),
      Wrong(
        "@Document struct A: Codable { var (x, y) = (1, 2) }", at: "(x, y)", "property of its own"),
      Wrong("@Document struct A: Codable { var x: (Int, Int) }", at: "(Int, Int)", "a tuple"),
      Wrong("@Document struct A: Codable { var x: () -> Int }", at: "() -> Int", "a function"),
      Wrong(
        "@Document struct A: Codable { var x: (@Sendable () -> Int)? }", at: "() -> Int",
        "a function"),
      Wrong("@Document struct A: Codable { var x: any Codable }", at: "any Codable", "a protocol"),
      Wrong("@Document struct A: Codable { var x: [any P] }", at: "any P", "a protocol"),
      Wrong("@Document struct A: Codable { var x: [String: Any] }", at: "Any", "is not Codable"),
      Wrong("@Document struct A: Codable { var x: AnyObject? }", at: "AnyObject", "is not Codable"),
      Wrong("@Document struct A: Codable { var x: Int.Type }", at: "Int.Type", "a metatype"),
      // Wrappers
      Wrong(
        "@Document struct A: Codable { @DocumentID var id: String }", at: "String",
        "@DocumentID has to be optional", fix: "make it optional"),
      Wrong(
        "@Document struct A: Codable { @ServerTimestamp var t: Date }", at: "Date",
        "@ServerTimestamp has to be optional", fix: "make it optional"),
      Wrong(
        "@Document struct A: Codable { @ExplicitNull var t: Int }", at: "Int",
        "@ExplicitNull has to be optional", fix: "make it optional"),
      Wrong(
        "@Document struct A: Codable { @ExplicitNull @Clamped var t: Int? }", at: "@Clamped",
        "one wrapper"),
      Wrong(
        "@Document struct A: Codable {\n#if DEBUG\n  @ExplicitNull\n#endif\n  var t: Int?\n}",
        at: "#if", "which attributes of '#if'"),
      Wrong(
        "@Document struct A: Codable { @Clamped var x: Int; var y = 1 }", at: "x",
        "cannot write 'init(from:)' for a property with @Clamped"),
      // Names
      Wrong(
        "@Document struct A: Codable { var x: Int; struct CodingKeys {} }",
        at: "struct CodingKeys {}", "has to be an enumeration"),
      Wrong(
        "@Document struct A: Codable { var x: Int; typealias CodingKeys = K }",
        at: "typealias CodingKeys = K", "has to be an enumeration"),
      Wrong(
        "@Document struct A: Codable { var x: Int; enum CodingKeys: String, CodingKey { case x, y } }",
        at: "y", "which is no stored property"),
      Wrong(
        "@Document struct A: Codable { var x: Int; var y: Int; enum CodingKeys: CodingKey { case x } }",
        at: "y", "'y' is not in CodingKeys", fix: "add 'case y' to CodingKeys"),
      Wrong(
        "@Document struct A: Codable { var x: Int; enum CodingKeys: String, CodingKey { case x = \"\" } }",
        at: "x = \"\"", "must not be empty"),
      Wrong(
        "@Document struct A: Codable { var __x__: Int }", at: "__x__", "are reserved: __x__"),
      Wrong(
        "@Document struct A: Codable { var x: Int; var y: Int; "
          + "enum CodingKeys: String, CodingKey { case x = \"n\", y = \"n\" } }",
        at: "y = \"n\"", "'x' and 'y' have the same field"),
      Wrong(
        "@Document struct A: Codable { var x: Int; "
          + "enum CodingKeys: String, CodingKey { case x = \"\\(n)\" } }",
        at: "\"\\(n)\"", "plain string literal"),
      Wrong(
        "@Document struct A: Codable { var x: Int; "
          + "enum CodingKeys: String, CodingKey { case x; static let y = 1 } }",
        at: "static let y = 1", "has to have nothing else"),
      Wrong(
        "@Document struct A: Codable { var x: Int; var y: Int; "
          + "enum CodingKeys: String, CodingKey { case x = \"__x__\", y } }",
        at: "x = \"__x__\"", "are reserved: __x__"),
      // Cases
      Wrong(
        "@Document enum A: Codable { case x(Int), x(String) }", at: "x", "Two cases are named 'x'"),
      Wrong(
        "@Document enum A: Codable { case x, y; enum CodingKeys: CodingKey { case x } }", at: "y",
        "'y' is not in CodingKeys", fix: "add 'case y' to CodingKeys"),
      Wrong(
        "@Document enum A: Codable { case x(a: Int, b: Int); enum XCodingKeys: CodingKey { case a } }",
        at: "b: Int", "XCodingKeys has no 'b'", fix: "add 'case b' to CodingKeys"),
      Wrong("@Document enum A: Codable { case x(f: () -> Int) }", at: "() -> Int", "a function"),
      Wrong(
        "@Document enum A: Codable { case x(a: Int, b: Int); "
          + "enum XCodingKeys: String, CodingKey { case a = \"n\", b = \"n\" } }",
        at: "b = \"n\"", "'a' and 'b' have the same field"),
      Wrong(
        "@Document enum A: Codable { case x(Int, _0: Int) }", at: "_0: Int",
        "Two associated values have the same field"),
      Wrong(
        "@Document enum A: Codable { case x(a: Int); enum XCodingKeys: CodingKey { case a, c } }",
        at: "c", "which is no stored property"),
      Wrong(
        "@Document enum A: Codable { case x; func encode(to encoder: any Encoder) throws {} }",
        at: "encode", "as the compiler's 'encode(to:)'"),
      Wrong(
        "@Document enum A: Codable {\n#if DEBUG\n  case x\n#endif\n  case y\n}", at: "#if",
        "which members of '#if'"),
      Wrong("@Document enum A: Codable { case __x__ }", at: "__x__", "are reserved"),
    ]

    @Test func `a wrong declaration is reported where it is wrong`() throws {
      let check = CompilerCheck(besides: Bundle(for: Here.self))
      // In functions of their own files: all may have the same names.
      let sources = Self.all.enumerated().map { index, wrong in
        "import Foundation\nimport HearthMacros\n\nenum Snippet\(index) {\n\(wrong.source)\n}\n"
      }
      let messages = try check.errors(in: sources, models: Self.models).dropFirst()
      #expect(messages.count >= 30)
      for (wrong, said) in zip(Self.all, messages) {
        let own = said.filter { $0.text.contains("(from macro 'Document") }
        #expect(own.count == 1, "\(wrong.source): \(said)")
        guard own.count == 1 else { continue }
        let message = own[0]
        #expect(message.text.contains(wrong.message), "\(wrong.source): \(message)")
        let marked = wrong.source.split(separator: "\n", omittingEmptySubsequences: false)
          .map(String.init)
        let line = marked[message.line - 5]
        let code = String(line.dropFirst(message.column - 1))
        #expect(code.hasPrefix(wrong.code), "\(wrong.source): \(message)")
        #expect(
          message.notes.first { !$0.contains("in expansion") } == wrong.fix,
          "\(wrong.source): \(message)")
      }
    }

    private final class Here {}
  }
#endif
