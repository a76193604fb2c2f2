import Hearth

/// The words of a search that have content. Stop words, such as "the" and "of", have none: as in
/// PostgreSQL, a row does not need them.
struct SearchWords: Sendable {
  private let stopWords: Set<String>
  /// Reads words without reducing them to their stems.
  private static let plain = SearchFields("text")

  /// - Parameter language: `english` or `german`. Others have no stop words.
  init(language: String?) {
    stopWords =
      switch language {
      case "english": Self.english
      case "german": Self.german
      default: []
      }
  }

  /// The words with content, as a text of `Query.search`. Nil if there are none.
  ///
  /// - Parameter isPrefix: Whether the last word is the beginning of words. It always has content.
  func words(in text: String, isPrefix: Bool = false) throws -> String? {
    var words = try pieces(of: text)
    let last = isPrefix ? words.popLast() : nil
    words = try words.filter(hasContent)
    if let last { words.append(last + "*") }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// The words as a phrase of `Query.search`, without those at its ends that have no content. Nil if
  /// none has content.
  func phrase(_ text: String) throws -> String? {
    let words = try pieces(of: text)
    guard let first = try words.firstIndex(where: hasContent),
      let last = try words.lastIndex(where: hasContent)
    else { return nil }
    return "\"\(words[first...last].joined(separator: " "))\""
  }

  private func hasContent(_ word: String) throws -> Bool {
    // "don't" is "don" and "t".
    try Self.plain.words(in: word).contains { word in
      word.split { "'\u{2019}".contains($0) }.contains { !stopWords.contains(String($0)) }
    }
  }

  /// The words as they are written: "Poems", "3.14", "can't".
  private func pieces(of text: String) throws -> [String] {
    func isWord(_ character: Character) -> Bool {
      character.isLetter || character.isNumber || character == "_"
    }
    func isJoiner(_ character: Character) -> Bool { ".,;'\u{2019}\u{B7}".contains(character) }
    return try text.split { !isWord($0) && !isJoiner($0) }.flatMap { piece -> [String] in
      if try Self.plain.words(in: String(piece)).count == 1 { return [String(piece)] }
      // Punctuation between words that belongs to none of them: "poems,the".
      return try piece.split(whereSeparator: isJoiner).map(String.init)
        .filter { try !Self.plain.words(in: $0).isEmpty }
    }
  }

  // The stop words of the Snowball project, as in PostgreSQL's text search.

  private static let english = list(
    """
    i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her
    hers herself it its itself they them their theirs themselves what which who whom this that these
    those am is are was were be been being have has had having do does did doing a an the and but if or
    because as until while of at by for with about against between into through during before after
    above below to from up down in out on off over under again further then once here there when where
    why how all any both each few more most other some such no nor not only own same so than too very s
    t can will just don should now
    """)

  private static let german = list(
    """
    aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes
    anderm andern anders auch auf aus bei bin bis bist da damit dann der den des dem die das daß
    derselbe derselben denselben desselben demselben dieselbe dieselben dasselbe dazu dein deine deinem
    deinen deiner deines denn derer dessen dich dir du dies diese diesem diesen dieser dieses doch dort
    durch ein eine einem einen einer eines einig einige einigem einigen einiger einiges einmal er ihn
    ihm es etwas euer eure eurem euren eurer eures für gegen gewesen hab habe haben hat hatte hatten
    hier hin hinter ich mich mir ihr ihre ihrem ihren ihrer ihres euch im in indem ins ist jede jedem
    jeden jeder jedes jene jenem jenen jener jenes jetzt kann kein keine keinem keinen keiner keines
    können könnte machen man manche manchem manchen mancher manches mein meine meinem meinen meiner
    meines mit muss musste nach nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen
    seiner seines selbst sich sie ihnen sind so solche solchem solchen solcher solches soll sollte
    sondern sonst über um und uns unse unsem unsen unser unses unter viel vom von vor während war waren
    warst was weg weil weiter welche welchem welchen welcher welches wenn werde werden wie wieder will
    wir wird wirst wo wollen wollte würde würden zu zum zur zwar zwischen
    """)

  /// The words in the form in which a search compares them.
  private static func list(_ text: String) -> Set<String> {
    Set((try? plain.words(in: text)) ?? [])
  }
}
