import Testing

@testable import HearthDataConnect

@Suite struct `Syntax` {
  private func parse(_ text: String) -> (DocumentSyntax, [String]) {
    let session = CompilerSession(options: CompilerOptions(), paths: ["a.gql"])
    let document = Parser.parse(text, file: 0, in: session)
    return (document, session.diagnostics.map(\.description))
  }

  @Test func `all parts of operations are read`() throws {
    let (document, errors) = parse(
      """
      # A comment, with commas, as spaces,,,
      query Q($a: [Int!]! = [1, 2] @retired, $b: Movie_Key) @auth(level: PUBLIC) {
        x: movies(where: {a: {eq: -1.5e3}, b: null, c: true, d: NAME, e: $b}) @skip(if: $c) {
          ...F @include(if: true)
          ... on Movie { id }
          ... @redact { id }
        }
      }
      fragment F on Movie { id }
      { shorthand }
      """)
    #expect(errors == [])
    let query = try #require(document.operations.first)
    #expect(query.name?.text == "Q")
    #expect(query.variables.map(\.name.text) == ["a", "b"])
    #expect(query.variables[0].directives.map(\.name.text) == ["retired"])
    #expect(query.variables[0].type.isNullable == false)
    #expect(document.fragments.map(\.typeCondition.text) == ["Movie"])
    #expect(document.operations[1].name == nil)
    guard case .field(let field) = query.selections[0] else {
      Issue.record("This is no field.")
      return
    }
    #expect(field.alias?.text == "x")
    #expect(field.name.position == Position(file: 0, line: 3, column: 6))
    #expect(field.selections?.count == 3)
  }

  @Test func `all definitions of schemas are read`() {
    let (document, errors) = parse(
      """
      "A description" type A implements X & Y @table { "Of a field" a(b: Int = 1): [Int!]! @x }
      extend type A { c: Int }
      enum E @y { A "text" B }
      input I { a: Int = 1 }
      scalar S @z
      interface N { a: Int }
      union U = | A | B
      directive @d(a: Int) repeatable on FIELD | QUERY
      schema { query: Query }
      type Empty
      """)
    #expect(errors == [])
    #expect(
      document.types.map(\.name.text) == [
        "A", "A", "E", "I", "S", "N", "U", "d", "schema", "Empty",
      ])
    #expect(document.types[0].fields.map(\.name.text) == ["a"])
    #expect(document.types[0].interfaces.map(\.text) == ["X", "Y"])
    #expect(document.types[1].isExtension)
  }

  @Test func `columns count Unicode scalars`() {
    let (_, errors) = parse("query A { a(b: \"äöü😀e\u{301}\") ? }")
    #expect(errors.first?.hasPrefix("a.gql:1:26: ") == true, "\(errors)")
  }

  @Test(arguments: ["\n", "\r\n", "\r"])
  func `every line ending counts once`(ending: String) {
    let (_, errors) = parse("query A {\(ending)# x\(ending)  ?\(ending)}")
    #expect(errors.first?.hasPrefix("a.gql:3:3: ") == true, "\(errors)")
  }

  @Test func `a byte order mark is skipped`() {
    let (document, errors) = parse("\u{FEFF}type A")
    #expect(errors == [])
    #expect(document.types[0].name.position.column == 6)
  }

  @Test func `escapes and block strings have their values`() throws {
    let (document, errors) = parse(
      #"""
      type A @x(
        a: "q\" b\\ s\/ n\n u\u00e4 p\uD83D\uDE00 v\u{1F600}"
        b: """
            first
              second \""" quote

            third
          """
        c: """one"""
        d: ""
      )
      """#)
    #expect(errors == [])
    let arguments = document.types[0].directives[0].arguments
    let texts = arguments.map { argument in
      if case .string(let text) = argument.value.kind { text } else { "" }
    }
    #expect(
      texts == [
        "q\" b\\ s/ n\n uä p😀 v😀", "first\n  second \"\"\" quote\n\nthird", "one", "",
      ])
  }

  @Test(arguments: [
    #""\uD83D""#, #""\uD83Dx""#, #""\u12"#, #""\u{}""#, #""\u{110000}""#, #""\u{D800}""#,
  ])
  func `an escape that is no scalar is an error`(text: String) {
    let (_, errors) = parse("type A @x(a: \(text))")
    #expect(errors.count == 1, "\(errors)")
  }

  @Test func `parsing goes on after an error at the next definition`() {
    let (document, errors) = parse(
      """
      type A { a b }
      type B { type: Int }
      query C { a(b: ) }
      query D { query }
      type E { x: } type F { y: Int }
      enum G {
      type H { z: Int }
      type I { z: Int }
      """)
    #expect(document.types.map(\.name.text) == ["B", "F", "I"])
    #expect(document.operations.compactMap(\.name?.text) == ["D"])
    #expect(
      errors == [
        "a.gql:1:12: error: Expected `:` and the type of `a`, not `b`.",
        "a.gql:3:16: error: Expected a value, not `)`.",
        "a.gql:5:13: error: Expected a type, not `}`.",
        "a.gql:7:8: error: Expected a value of the enum, or `}`, not `{`.",
      ])
  }

  @Test func `nesting is bounded`() {
    let deep = 100_000
    for text in [
      "query A " + String(repeating: "{ a ", count: deep),
      "query A { a(b: " + String(repeating: "[", count: deep),
      "query A { a(b: " + String(repeating: "{ a: ", count: deep),
      "query A($a: " + String(repeating: "[", count: deep),
      "query A " + String(repeating: "{ ... ", count: deep),
    ] {
      let (_, errors) = parse(text)
      #expect(errors.count == 1)
      #expect(errors[0].contains("Nested more than 100 levels deep: use fewer levels."))
    }
    let (_, errors) = parse(
      "query A " + String(repeating: "{ a ", count: 100) + String(repeating: "}", count: 100))
    #expect(errors == [])
  }
}
