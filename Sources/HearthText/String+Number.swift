extension String {
  /// The digits of a number, with zeros before them up to `width` characters.
  package init(
    _ number: some BinaryInteger, radix: Int = 10, uppercase: Bool = false, width: Int
  ) {
    let digits = String(number, radix: radix, uppercase: uppercase)
    self.init(repeating: "0", count: Swift.max(0, width - digits.utf8.count))
    self += digits
  }
}
