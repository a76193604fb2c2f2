import Foundation
import Hearth

/// Matches objects whose property is a string that contains `substring`.
///
/// - Parameters:
///   - key: The property.
///   - substring: The text to find.
///   - modifiers: See `matchesRegex(key:regex:modifiers:)`.
public func containsString(
  key: String, substring: String, modifiers: String? = nil
) -> QueryConstraint {
  text(key, modifiers, pattern(of: substring)) {
    .whereField($0, containsText: substring)
  }
}

/// Matches objects whose property is a string that begins with `prefix`.
///
/// - Parameters:
///   - key: The property.
///   - prefix: The beginning.
///   - modifiers: See `matchesRegex(key:regex:modifiers:)`.
public func hasPrefix(key: String, prefix: String, modifiers: String? = nil) -> QueryConstraint {
  text(key, modifiers, "^" + pattern(of: prefix)) {
    .whereField($0, hasPrefix: prefix)
  }
}

/// Matches objects whose property is a string that ends with `suffix`.
///
/// - Parameters:
///   - key: The property.
///   - suffix: The end.
///   - modifiers: See `matchesRegex(key:regex:modifiers:)`.
public func hasSuffix(key: String, suffix: String, modifiers: String? = nil) -> QueryConstraint {
  text(key, modifiers, pattern(of: suffix) + (modifiers?.contains("m") == true ? "$" : #"\z"#)) {
    .whereField($0, hasSuffix: suffix)
  }
}

/// A pattern for a text itself, whatever the modifiers are.
private func pattern(of text: String) -> String {
  text.unicodeScalars.reduce(into: "") { pattern, scalar in
    let isPlain = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    if !isPlain { pattern += "\\" }
    pattern.unicodeScalars.append(scalar)
  }
}

private func text(
  _ key: String, _ modifiers: String?, _ pattern: String,
  _ plain: @escaping @Sendable (FieldPath) -> Filter
) -> QueryConstraint {
  guard let modifiers, !modifiers.isEmpty else {
    return QueryConstraint(of: key) { path, _ in plain(path) }
  }
  return matchesRegex(key: key, regex: pattern, modifiers: modifiers)
}

/// Matches objects whose property is a string in which the regular expression is found, in time
/// linear in the text. The query throws `ParseError` with `.invalidValue` for an expression that is
/// invalid, and for back references and look-around.
///
/// - Parameters:
///   - key: The property.
///   - regex: The expression, which may match anywhere in the string.
///   - modifiers: Letters: `i` ignores case, `m` lets `^` and `$` match at lines, `s` lets `.` match
///     newlines, `x` ignores white space in the expression.
public func matchesRegex(
  key: String, regex: String, modifiers: String? = nil
) -> QueryConstraint {
  QueryConstraint(of: key) { path, _ in
    .whereField(path, matchesPattern: regex, options: modifiers ?? "")
  }
}

/// An option of `matchesText(key:text:options:)`.
public enum ParseTextOption: String, Sendable {
  /// An ISO 639-1 code, such as `en`: words are reduced to their stems. Without it, words match as
  /// they are.
  case language
  /// A `Bool`. Only false is possible, and the default: case is ignored.
  case caseSensitive
  /// A `Bool`. Only false is possible, and the default: accents are ignored.
  case diacriticSensitive
}

/// Matches objects with all of the words in a property, the best first.
///
///     let books = try Book.query(matchesText(key: "title", text: "dune mess*")).find()
///
/// Quotation marks enclose phrases; an asterisk ends the beginning of a word. The condition must be
/// one of the query's own, and the only search: the query throws `ParseError` with `.invalidQuery`
/// if it is in `or` or in a query inside another one. Results are ranked by BM25; the query has no
/// other order, no `include` and no cursor. A text without a word makes the query throw
/// `.invalidValue`. An index on words serves it: `FirestoreIndex(words:
/// "Book", in: SearchFields("title"))`.
public func matchesText(key: String, text: String) -> QueryConstraint {
  QueryConstraint(QueryConstraint.Search(key: key, text: text, language: "simple"))
}

/// Same as `matchesText(key:text:)`, with options. Throws `ParseError` with `.operationForbidden`
/// for a search that distinguishes case or accents, and with `.invalidValue` for a language that is
/// no string.
public func matchesText(
  key: String, text: String, options: [ParseTextOption: any Sendable]
) throws(ParseError) -> QueryConstraint {
  for option in [ParseTextOption.caseSensitive, .diacriticSensitive] {
    guard options[option] == nil || options[option] as? Bool == false else {
      throw ParseError(
        .operationForbidden, "A search for words ignores case and accents: use matchesRegex.")
    }
  }
  let language = options[.language]
  guard language == nil || language is String else {
    throw ParseError(.invalidValue, "The language of a search is a string, such as \"en\".")
  }
  return QueryConstraint(
    QueryConstraint.Search(key: key, text: text, language: language as? String ?? "simple"))
}
