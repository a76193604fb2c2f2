extension Hasher {
  /// The hash value of an object with these parts.
  static func hash<each Part: Hashable>(_ part: repeat each Part) -> Int {
    var hasher = Hasher()
    repeat hasher.combine(each part)
    return hasher.finalize()
  }
}
