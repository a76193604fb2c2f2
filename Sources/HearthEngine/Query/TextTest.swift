import Foundation

/// A comparison of text, prepared: the operand in the form in which stored bytes are compared.
///
/// Prefixes, suffixes and parts are compared by their UTF-8 bytes, as strings are elsewhere. Case is
/// ignored as `lowercased()` does: by Unicode, in no language.
struct TextTest: Sendable {
  private enum Kind { case prefix, suffix, part, ignoringCase }

  private let kind: Kind
  private let operand: [UInt8]
  /// For each beginning of the operand, the length of its longest proper suffix that is a beginning,
  /// too (Knuth, Morris and Pratt).
  private let borders: [Int]

  /// Nil if the operand is not a string.
  init?(_ comparison: StructuredQuery.Comparison) {
    guard case .string(let text) = comparison.operand else { return nil }
    switch comparison.operator {
    case .hasPrefix: (kind, operand) = (.prefix, Array(text.utf8))
    case .hasSuffix: (kind, operand) = (.suffix, Array(text.utf8))
    case .containsText: (kind, operand) = (.part, Array(text.utf8))
    case .equalsIgnoringCase: (kind, operand) = (.ignoringCase, Array(text.lowercased().utf8))
    default: return nil
    }
    borders = kind == .part ? Self.borders(of: operand) : []
  }

  private static func borders(of operand: [UInt8]) -> [Int] {
    var borders = [Int](repeating: 0, count: operand.count)
    var length = 0
    for index in operand.indices.dropFirst() {
      while length > 0, operand[index] != operand[length] { length = borders[length - 1] }
      if operand[index] == operand[length] { length += 1 }
      borders[index] = length
    }
    return borders
  }

  func passes(_ text: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .prefix: return text.count >= operand.count && isEqual(text.prefix(operand.count))
    case .suffix: return text.count >= operand.count && isEqual(text.suffix(operand.count))
    case .part: return contains(text)
    case .ignoringCase:
      // Damaged bytes equal no text.
      return String(storedUTF8: text)?.lowercased().utf8.elementsEqual(operand) ?? false
    }
  }

  private func isEqual(_ part: Slice<UnsafeRawBufferPointer>) -> Bool {
    operand.withUnsafeBytes {
      UTF8Order.compare($0, UnsafeRawBufferPointer(rebasing: part)) == 0
    }
  }

  /// In linear time.
  private func contains(_ text: UnsafeRawBufferPointer) -> Bool {
    if operand.isEmpty { return true }
    var matched = 0
    for byte in text {
      while matched > 0, byte != operand[matched] { matched = borders[matched - 1] }
      guard byte == operand[matched] else { continue }
      matched += 1
      if matched == operand.count { return true }
    }
    return false
  }
}
