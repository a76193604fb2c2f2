internal import HearthText

/// Names of declarations in Swift.
enum SwiftNames {
  /// `friendly-flix` → `FriendlyFlix`, `movies` → `Movies`
  static func upperCamel(_ id: String) -> String {
    let words = id.split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
    let name = words.map { Naming.upperFirst(String($0)) }.joined()
    guard let first = name.first else { return "Default" }
    return first.isNumber ? "_\(name)" : name
  }

  /// The name as it is written where it is declared or used: keywords in backticks.
  static func quoted(_ name: String) -> String { keywords.contains(name) ? "`\(name)`" : name }

  /// The name as it is written as the label of a parameter.
  static func label(_ name: String) -> String {
    ["inout", "let", "var"].contains(name) ? "`\(name)`" : name
  }

  /// The name as it is written as the label of an argument.
  static func argumentLabel(_ name: String) -> String { name == "inout" ? "`inout`" : name }

  /// A string literal with the text.
  static func literal(_ text: String) -> String {
    text.quoted { scalar in
      let isControl = scalar.value < 0x20 || scalar.value == 0x7F
      return isControl ? "\\u{\(String(scalar.value, radix: 16))}" : nil
    }
  }

  /// Words that cannot be the name of a property or of a parameter without backticks, and words that
  /// begin an expression.
  static let keywords: Set<String> = [
    "Any", "Protocol", "Self", "Type", "any", "as", "associatedtype", "await", "borrow", "break",
    "case", "catch", "class", "consume", "continue", "copy", "default", "defer", "deinit",
    "discard", "do", "each", "else", "enum", "extension", "fallthrough", "false", "fileprivate",
    "for", "func", "guard", "if", "import", "in", "init", "inout", "internal", "is", "let", "nil",
    "operator", "precedencegroup", "private", "protocol", "public", "repeat", "rethrows", "return",
    "self", "some", "static", "struct", "subscript", "super", "switch", "throw", "throws", "true",
    "try", "typealias", "unsafe", "var", "where", "while", "yield",
  ]

  /// Modules of Swift's library, and of the package that generated code depends on, in lower case:
  /// file systems may not distinguish letters by case.
  static let takenModules: Set<String> = [
    "argumentparser", "clmdb", "combine", "cpostgres", "cxxhash", "dataconnectmodel", "dequemodule",
    "dispatch", "firebasecore", "firebasedataconnect", "firebasefirestore", "firebasesharedswift",
    "firestoreprotocol", "foundation", "foundationessentials", "foundationnetworking", "glibc",
    "hearth", "hearthcel", "hearthcli", "hearthdataconnect", "hearthdataconnectplugin",
    "hearthdemo", "hearthengine", "hearthgeometry", "hearthmacros", "hearthmacrosplugin",
    "hearthpatterns", "hearthpostgres", "hearthserver", "hearthservice", "hearthterminal",
    "hearthtesting", "hearthtext", "lmdb", "logging", "musl", "observation", "parseswift", "swift",
    "swiftui", "synchronization", "testing", "xctest", "_concurrency",
  ]

  /// Types that generated code uses. A declaration with such a name would hide them.
  static let usedTypes: Set<String> = [
    "Any", "AnyValue", "Array", "Bool", "CacheSettings", "CaseIterable", "Codable",
    "ConnectorConfig", "Data", "DataConnect", "DataConnectDecodable", "DataConnectEncodable",
    "DataConnectReader", "DataConnectRow", "DataConnectSettings", "DataConnectVariables",
    "DataObject", "DataValue", "Double", "FirebaseCore", "FirebaseDataConnect", "Firestore",
    "Foundation", "Hashable", "Hasher", "Identifiable", "Int", "Int64", "LocalDate", "MutationRef",
    "OperationResult", "Optional", "OptionalVariable", "OrderDirection", "Protocol",
    "QueryFetchPolicy", "QueryRefObservation", "RawRepresentable", "SearchQueryFormat", "Self",
    "Sendable", "String", "Timestamp", "Type", "UUID", "Void",
  ]
}

/// Names of one scope, each given once.
struct NameScope {
  private(set) var taken: Set<String>

  init(reserving names: Set<String> = []) {
    taken = names
  }

  /// The name, with an underscore after it for each declaration that has the name already.
  mutating func add(_ name: String) -> String {
    let unique = free(name)
    taken.insert(unique)
    return unique
  }

  /// Like `add`, for a property with a wrapper, whose storage has the name with an underscore before
  /// it.
  mutating func addWrapped(_ name: String) -> String {
    var unique = free(name)
    while taken.contains("_\(unique)") { unique = free("\(unique)_") }
    taken.formUnion([unique, "_\(unique)"])
    return unique
  }

  private func free(_ name: String) -> String {
    // A single underscore is no name.
    var unique = name == "_" ? "__" : name
    while taken.contains(unique) { unique += "_" }
    return unique
  }
}
