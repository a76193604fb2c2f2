import DataConnectModel
import Hearth

/// The key of a row, as the id of its document.
///
///     Movie     id                 0f7c… (32 hex digits)
///     Review    movieId, userId    0f7c…:ada%3Aadmin
///
/// Each value is a text: as in results, numbers in decimal. `/`, `:`, `%` and control characters are
/// written as `%2F`; so is the first character of a text that Firestore refuses or reserves. No two
/// keys have the same id.
enum RowKey {
  static func documentID(_ values: [DataValue]) -> String {
    values.map { escaped(text($0)) }.joined(separator: ":")
  }

  /// The values of the columns, or nil for an id that is no key.
  static func values(of documentID: String, types: [ValueType]) -> [DataValue]? {
    let parts = documentID.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == types.count else { return nil }
    var values: [DataValue] = []
    for (part, type) in zip(parts, types) {
      guard let text = unescaped(part), let value = value(text, type) else { return nil }
      values.append(value)
    }
    return values
  }

  /// The value of a key with one column.
  static func value(of documentID: String, type: ValueType) -> DataValue? {
    let isPlain = documentID.utf8.allSatisfy {
      $0 != UInt8(ascii: "%") && $0 != UInt8(ascii: ":")
    }
    return isPlain ? value(documentID, type) : values(of: documentID, types: [type])?.first
  }

  private static func text(_ value: DataValue) -> String {
    switch value {
    case .string(let text): text
    case .int(let number): String(number)
    case .double(let number): number.description
    case .bool(let flag): flag ? "true" : "false"
    case .timestamp(let time): time.rfc3339
    case .null, .list, .object: value.canonicalText
    }
  }

  private static func value(_ text: String, _ type: ValueType) -> DataValue? {
    switch type {
    case .string, .uuid, .date, .enumeration: .string(text)
    case .int, .int64: Int64(text).map { .int($0) }
    case .float: Double(text).map { .double($0) }
    case .boolean: text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil
    case .timestamp: (try? Timestamp(rfc3339: text)).map { .timestamp($0) }
    case .any, .vector: nil
    }
  }

  private static func escaped(_ text: String) -> String {
    // Usual keys are as they are.
    let isPlain = text.utf8.allSatisfy { byte in
      byte > 0x20 && byte != UInt8(ascii: "/") && byte != UInt8(ascii: ":")
        && byte != UInt8(ascii: "%") && byte != 0x7F
    }
    if isPlain, let first = text.utf8.first, first != UInt8(ascii: "."),
      first != UInt8(ascii: "_")
    {
      return text
    }
    // An empty text is a percent sign without digits.
    if text.isEmpty { return "%" }
    var escaped = ""
    for (index, scalar) in text.unicodeScalars.enumerated() {
      let isFirst = index == 0 && (scalar == "." || scalar == "_")
      if isFirst || scalar.value < 0x20 || scalar == "/" || scalar == ":" || scalar == "%"
        || scalar.value == 0x7F
      {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        escaped += digits.utf8.count == 1 ? "%0\(digits)" : "%\(digits)"
      } else {
        escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func unescaped(_ part: Substring) -> String? {
    guard part.utf8.contains(UInt8(ascii: "%")) else { return part.isEmpty ? nil : String(part) }
    if part == "%" { return "" }
    var text = ""
    var rest = part.unicodeScalars
    while let scalar = rest.popFirst() {
      guard scalar == "%" else {
        text.unicodeScalars.append(scalar)
        continue
      }
      let digits = String(String.UnicodeScalarView(rest.prefix(2)))
      guard digits.utf8.count == 2, let number = UInt8(digits, radix: 16) else { return nil }
      text.unicodeScalars.append(Unicode.Scalar(number))
      rest = rest.dropFirst(2)
    }
    return text
  }
}
