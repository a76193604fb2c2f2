internal import HearthText

extension RegularExpression {
  /// A search for bytes in linear time, which skips to the first byte.
  struct LiteralSearch: Sendable {
    private let search: SequenceSearch<UInt8>

    /// - Parameter literal: Not empty.
    init(_ literal: String) { search = SequenceSearch(Array(literal.utf8)) }

    func isFound(in text: UnsafeRawBufferPointer) -> Bool {
      let (literal, borders) = (search.wanted, search.borders)
      guard text.count >= literal.count, let base = text.baseAddress else { return false }
      let first = Int32(literal[0])
      var matched = 0
      var position = 0
      while position < text.count {
        if matched == 0 {
          guard let found = memchr(base + position, first, text.count - position) else {
            return false
          }
          position = UnsafeRawPointer(found) - base
        }
        while matched > 0, text[position] != literal[matched] { matched = borders[matched - 1] }
        if text[position] == literal[matched] { matched += 1 }
        if matched == literal.count { return true }
        position += 1
      }
      return false
    }
  }
}

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif
