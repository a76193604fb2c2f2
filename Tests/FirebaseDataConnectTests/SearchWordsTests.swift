import DataConnectModel
import HearthTesting
import Testing

@testable import FirebaseDataConnect

/// Texts of searches, read as PostgreSQL's text search reads them.
@Suite struct SearchWordsTests {
  private func read(
    _ text: String, _ format: SearchQueryFormat = .QUERY, _ language: String = "english"
  ) throws -> String {
    try SearchExpression.parsed(text, format: format, SearchWords(language: language))
      .map(Self.text) ?? "nothing"
  }

  /// `(a and not b or "c d")`
  private static func text(_ expression: SearchExpression) -> String {
    switch expression {
    case .term(let text): text
    case .not(let expression): "not \(Self.text(expression))"
    case .all(let parts): "(\(parts.map(Self.text).joined(separator: " and ")))"
    case .any(let parts): "(\(parts.map(Self.text).joined(separator: " or ")))"
    }
  }

  @Test(arguments: [
    ("sand worm", "(sand and worm)"), ("sand sand", "sand"),
    ("sand -worm", "(sand and not worm)"), ("-worm", "not worm"), ("this is ----fine", "fine"),
    ("sand - worm", "(sand and not worm)"), ("well-known", "well known"),
    ("-well-known", "not well known"), ("tele*", "tele*"), ("-tele*", "not tele*"),
    ("\"small town\" man", "(\"small town\" and man)"), ("-\"small town\"", "not \"small town\""),
    ("\"small town", "\"small town\""), ("small\"big town\"", "(small and \"big town\")"),
    ("cat or rat", "(cat or rat)"), ("cat OR rat -dog", "(cat or (rat and not dog))"),
    ("fat cat or fat rat", "((fat and cat) or (fat and rat))"), ("cat or cat", "cat"),
    ("\"fat cat\"or\"fat rat\"", "(\"fat cat\" or \"fat rat\")"), ("fat or(rat", "(fat or rat)"),
    ("\"fat cat or rat\"", "\"fat cat or rat\""), ("cat \"or\" rat", "(cat and rat)"),
    ("cat or", "cat"), ("or rat", "rat"), ("cat or ", "cat"), ("or or or", "nothing"),
    ("cat orange", "(cat and orange)"), ("cat or-rat", "(cat and rat)"),
    ("cat or1234", "(cat and or1234)"),
    ("cat & rat | dog", "(cat and rat and dog)"), ("!cat", "cat"), ("(cat) rat)", "(cat and rat)"),
    ("cat:* <-> rat", "(cat* and rat)"),
  ])
  func `a text is read as a web search`(text: String, wanted: String) throws {
    #expect(try read(text) == wanted)
  }

  @Test(arguments: [
    ("the poems", "poems"), ("The Poems of an Age", "(Poems and Age)"), ("poems,the", "poems"),
    ("the-poems", "poems"), ("don't", "nothing"), ("it’s poems", "poems"), ("can’t", "nothing"),
    ("poem's", "poem's"), ("U.S.A. 3.14", "(U.S.A. and 3.14)"), ("-the", "nothing"),
    ("poems -the", "poems"), ("poems or the", "poems"), ("the or of", "nothing"),
    ("the*", "the*"), ("the poem*", "poem*"), ("\"the poems of\"", "\"poems\""),
    ("\"state of emergency\"", "\"state of emergency\""), ("\"of the\"", "nothing"),
    ("", "nothing"), ("   ", "nothing"), ("\"\"", "nothing"), ("...", "nothing"),
    ("-", "nothing"), ("*", "nothing"), ("?! & () 🚀", "nothing"), ("the", "nothing"),
    ("東京 the", "東京"),
  ])
  func `words without content are not required`(text: String, wanted: String) throws {
    #expect(try read(text) == wanted)
  }

  @Test(arguments: [
    ("the -poems or \"age\"", SearchQueryFormat.PLAIN, "poems age"), ("", .PLAIN, "nothing"),
    ("the", .PLAIN, "nothing"), ("tele*", .PLAIN, "tele"),
    ("the small \"town", .PHRASE, "\"small town\""), ("...", .PHRASE, "nothing"),
    ("the & fat & rats", .ADVANCED, "(fat and rats)"), ("the | fat", .ADVANCED, "fat"),
    ("fat & !the", .ADVANCED, "fat"), ("!(the & of)", .ADVANCED, "nothing"),
    ("", .ADVANCED, "nothing"), (" ", .ADVANCED, "nothing"), ("'...'", .ADVANCED, "nothing"),
    ("... & fat", .ADVANCED, "fat"), ("the <-> fat <-> rats", .ADVANCED, "\"fat rats\""),
    ("!!fat", .ADVANCED, "fat"), ("the:*", .ADVANCED, "the*"),
  ])
  func `the other formats have the same words`(
    text: String, format: SearchQueryFormat, wanted: String
  ) throws {
    #expect(try read(text, format) == wanted)
  }

  @Test func `each language has its own stop words, and others have none`() throws {
    #expect(try read("the für über Gedichte", .QUERY, "german") == "(the and Gedichte)")
    #expect(try read("the poems", .QUERY, "french") == "(the and poems)")
  }

  @Test func `a search that needs several searches has a bounded number of them`() throws {
    func names(_ count: Int) -> [String] { (0..<count).map { "w\($0)" } }
    #expect(try read(names(64).joined(separator: " or ")).count > 64)
    for (text, format) in [
      (names(65).joined(separator: " or "), SearchQueryFormat.QUERY),
      (names(65).map { "-\($0)" }.joined(separator: " "), .QUERY),
      (names(65).joined(separator: "|"), .ADVANCED),
      ("(x|y)&(y|x)&" + names(61).joined(separator: "|"), .ADVANCED),
    ] {
      let error = #expect(throws: OperationFailure.self) { try read(text, format) }
      #expect(error?.message == "The text of a search has more than 64 words.")
    }
    // The same word again is no other word, however often.
    #expect(try read(String(repeating: "a1 or ", count: 5000) + "-b1") == "(a1 or not b1)")
    #expect(try read(String(repeating: "-", count: 100_001) + "b1") == "not b1")
  }
}
