import Foundation
internal import HearthText

/// A comparison of text, prepared: the operand in the form in which stored bytes are compared.
///
/// Prefixes, suffixes and parts are compared by their UTF-8 bytes, as strings are elsewhere. Case is
/// ignored as `lowercased()` does: by Unicode, in no language.
struct TextTest: Sendable {
  private enum Kind { case prefix, suffix, part, ignoringCase }

  private let kind: Kind
  private let operand: [UInt8]
  /// The search for a part; nil for the other kinds.
  private let search: SequenceSearch<UInt8>?

  /// Nil if the operand is not a string.
  init?(_ comparison: StructuredQuery.Comparison) {
    guard case .string(let text) = comparison.constant else { return nil }
    switch comparison.operator {
    case .hasPrefix: (kind, operand) = (.prefix, Array(text.utf8))
    case .hasSuffix: (kind, operand) = (.suffix, Array(text.utf8))
    case .containsText: (kind, operand) = (.part, Array(text.utf8))
    case .equalsIgnoringCase: (kind, operand) = (.ignoringCase, Array(text.lowercased().utf8))
    default: return nil
    }
    search = kind == .part ? SequenceSearch(operand) : nil
  }

  func passes(_ text: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .prefix: return text.count >= operand.count && isEqual(text.prefix(operand.count))
    case .suffix: return text.count >= operand.count && isEqual(text.suffix(operand.count))
    case .part: return search?.isFound(in: text) ?? false
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
}
