/// Names that are derived from the names of types.
enum Naming {
  /// `MovieActor` → `movieActor`
  static func lowerFirst(_ name: String) -> String {
    name.prefix(1).lowercased() + name.dropFirst()
  }

  /// `id` → `Id`
  static func upperFirst(_ name: String) -> String {
    name.prefix(1).uppercased() + name.dropFirst()
  }

  /// `MovieActor` → `movie_actor`, `HTTPServer` → `http_server`
  static func snakeCase(_ name: String) -> String {
    let letters = Array(name)
    var result = ""
    for (index, letter) in letters.enumerated() {
      if letter.isUppercase, index > 0, letters[index - 1] != "_" {
        let afterLower = !letters[index - 1].isUppercase
        let beforeLower = index + 1 < letters.count && letters[index + 1].isLowercase
        if afterLower || beforeLower { result += "_" }
      }
      result += letter.lowercased()
    }
    return result
  }

  /// The English plural of the last word: `movie` → `movies`, `movieCategory` → `movieCategories`.
  /// A word that is a plural already stays: `standardScalars`.
  static func plural(_ name: String) -> String {
    // The last word begins at the last capital letter, or after the last underscore.
    let start =
      name.lastIndex { $0.isUppercase || $0 == "_" }
      .map { name[$0] == "_" ? name.index(after: $0) : $0 } ?? name.startIndex
    let head = name[..<start]
    let word = String(name[start...])
    let lower = word.lowercased()
    guard let last = lower.last else { return name + "s" }
    if unchanging.contains(lower) { return name }
    if let irregular = irregular[lower] {
      return head + (word.first?.isUppercase == true ? upperFirst(irregular) : irregular)
    }
    if irregular.values.contains(lower) { return name }
    let stem = { (count: Int) in head + word.dropLast(count) }
    func ends(_ suffixes: String...) -> Bool { suffixes.contains(where: lower.hasSuffix) }
    if ends("ss", "sh", "ch", "x", "zz", "us") { return name + "es" }
    if ends("sis", "xis") { return stem(2) + "es" }
    if ends("is", "as", "os") { return name + "es" }
    if last == "s" { return name }
    if last == "z" { return name + "zes" }
    if last == "y" {
      let before = lower.dropLast().last
      let isVowel = before.map("aeiou".contains) ?? true
      return isVowel ? name + "s" : stem(1) + "ies"
    }
    if wordsInVes.contains(where: lower.hasSuffix) {
      return ends("fe") ? stem(2) + "ves" : stem(1) + "ves"
    }
    if wordsInOes.contains(where: lower.hasSuffix) { return name + "es" }
    return name + "s"
  }

  private static let unchanging: Set<String> = [
    "sheep", "fish", "deer", "series", "species", "news", "equipment", "information", "money",
    "rice", "aircraft",
  ]
  private static let irregular: [String: String] = [
    "person": "people", "child": "children", "man": "men", "woman": "women", "foot": "feet",
    "tooth": "teeth", "goose": "geese", "mouse": "mice", "ox": "oxen", "quiz": "quizzes",
    "index": "indices", "matrix": "matrices", "vertex": "vertices", "criterion": "criteria",
    "datum": "data", "medium": "media", "status": "statuses", "bus": "buses", "gas": "gases",
    "lens": "lenses", "alias": "aliases", "atlas": "atlases", "canvas": "canvases",
    "chaos": "chaos", "move": "moves",
  ]
  private static let wordsInVes = [
    "knife", "wife", "life", "leaf", "loaf", "thief", "half", "shelf", "wolf", "calf", "self",
  ]
  private static let wordsInOes = ["hero", "potato", "tomato", "echo", "veto", "torpedo"]

  /// `PascalCase`, without underscores.
  static func isPascalCase(_ name: String) -> Bool {
    name.first?.isUppercase == true && !name.contains("_")
  }

  /// `UPPER_SNAKE`
  static func isUpperSnakeCase(_ name: String) -> Bool {
    name.allSatisfy { $0.isUppercase || $0.isNumber || $0 == "_" }
  }
}
