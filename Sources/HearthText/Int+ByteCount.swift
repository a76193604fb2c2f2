extension Int {
  /// `512MB`, `8GiB`, `1000000`: decimal units, or binary ones with an i. Nil for another text.
  package init?(byteCount text: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    var unit = text.dropFirst(digits.count).lowercased()
    if unit.hasSuffix("b") { unit.removeLast() }
    let isBinary = unit.count == 2 && unit.hasSuffix("i")
    if isBinary { unit.removeLast() }
    guard var bytes = Int(digits), bytes > 0,
      let power = ["", "k", "m", "g", "t"].firstIndex(of: unit)
    else { return nil }
    for _ in 0..<power {
      let (product, overflow) = bytes.multipliedReportingOverflow(by: isBinary ? 1024 : 1000)
      guard !overflow else { return nil }
      bytes = product
    }
    self = bytes
  }
}
