internal import HearthText

/// Field paths as users write them: names separated by dots, without quoting.
extension FieldSegments {
  /// Parses `address.city`. The error messages are Firebase's.
  package init(dotted text: String) throws(Status) {
    let isForbidden = text.utf8.contains { character in
      switch character {
      case UInt8(ascii: "~"), UInt8(ascii: "*"), UInt8(ascii: "/"), UInt8(ascii: "["),
        UInt8(ascii: "]"):
        true
      default: false
      }
    }
    guard !isForbidden else {
      throw .invalidArgument(
        "Invalid field path (\(text)). Paths must not contain '~', '*', '/', '[', or ']'")
    }
    if !text.isEmpty, !text.utf8.contains(UInt8(ascii: ".")) {
      self.init([text])
      return
    }
    let names = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard !names.contains(where: \.isEmpty) else {
      throw .invalidArgument(
        "Invalid field path (\(text)). Paths must not be empty, begin with '.', end with '.', "
          + "or contain '..'")
    }
    self.init(names.map { String(Substring($0)) })
  }

  /// For names that may contain any characters, but must not be empty.
  init(checkingNames names: [String]) throws(Status) {
    guard !names.isEmpty else {
      throw .invalidArgument("Invalid field path. Provided names must not be empty.")
    }
    if let index = names.firstIndex(where: \.isEmpty) {
      throw .invalidArgument(
        "Invalid field name at index \(index). Field names must not be empty.")
    }
    self.init(names)
  }
}

/// Field paths as on the wire: a name that is not simple is enclosed in backticks. Inside them, a
/// backslash precedes each backtick and each backslash.
extension FieldSegments {
  /// ``address.`zip code` ``. Every path has one such text, and reading the text gives the path
  /// back.
  package var canonicalText: String {
    names.map(FieldSegments.canonicalText(ofName:)).joined(separator: ".")
  }

  private static func canonicalText(ofName name: String) -> String {
    if isSimple(name.utf8) { return name }
    var quoted: [UInt8] = [backtick]
    for byte in name.utf8 {
      if byte == backtick || byte == backslash { quoted.append(backslash) }
      quoted.append(byte)
    }
    quoted.append(backtick)
    return String(decoding: quoted, as: UTF8.self)
  }

  /// Reads `canonicalText`. Also accepts names that are quoted without need.
  package init(wireText text: String) throws(Status) {
    guard !text.isEmpty else { throw .invalidArgument("Invalid empty property path string.") }
    var names: [String] = []
    var rest = text.utf8[...]
    while true {
      guard let name = FieldSegments.takeName(&rest) else { throw .invalid(wireText: text) }
      names.append(name)
      guard let separator = rest.popFirst() else { break }
      guard separator == UInt8(ascii: ".") else { throw .invalid(wireText: text) }
    }
    self.init(names)
  }

  /// Nil if `rest` does not begin with a simple or a quoted name.
  private static func takeName(_ rest: inout Substring.UTF8View) -> String? {
    guard rest.first == backtick else {
      let name = rest.prefix { $0 != UInt8(ascii: ".") }
      rest = rest[name.endIndex...]
      return isSimple(name) ? String(Substring(name)) : nil
    }
    rest.removeFirst()
    var name: [UInt8] = []
    while let byte = rest.popFirst() {
      switch byte {
      case backtick: return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
      case backslash:
        guard let escaped = rest.popFirst() else { return nil }
        name.append(escaped)
      default: name.append(byte)
      }
    }
    return nil
  }

  /// `[A-Za-z_][A-Za-z0-9_]*`
  private static func isSimple(_ name: some Collection<UInt8>) -> Bool {
    guard let first = name.first, !first.isASCIIDigit else { return false }
    return name.allSatisfy { $0.isASCIIWord }
  }
}

private let backtick = UInt8(ascii: "`")
private let backslash = UInt8(ascii: "\\")

extension Status {
  fileprivate static func invalid(wireText text: String) -> Status {
    .invalidArgument(
      "Invalid property path \"\(text)\". Unquoted property paths must match regex "
        + #"([a-zA-Z_][a-zA-Z_0-9]*), and quoted property paths must match regex (`(?:[^`\\]|(?:\\.))+`)"#
    )
  }
}

/// The checks that the server makes when a field of this path is written.
extension FieldSegments {
  /// Throws `invalidArgument` for a path that no stored field can have.
  package func checkNames() throws(Status) {
    var length = max(names.count - 1, 0)
    for name in names {
      try FieldSegments.check(name: name)
      length += name.utf8.count
    }
    guard length <= Limits.fieldName else {
      throw .invalidArgument("The property path is longer than \(Limits.fieldName) bytes.")
    }
  }

  /// Checks one name in a document or in a map.
  static func check(name: String) throws(Status) {
    guard !name.isEmpty else { throw .invalidArgument("The property.name is the empty string.") }
    guard name.utf8.count <= Limits.fieldName else {
      throw .invalidArgument("The property.name is longer than \(Limits.fieldName) bytes.")
    }
    guard !ResourcePath.isReserved(name) else {
      throw .invalidArgument("field name '\(name)' is reserved.")
    }
  }
}
