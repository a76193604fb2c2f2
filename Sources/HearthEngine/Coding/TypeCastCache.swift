/// Remembers what types are when they are cast to the metatype `Answer`: the cast costs more than
/// coding a small value, and its cost grows with the number of types in the program.
struct TypeCastCache<Answer> {
  private let entryCount = 128

  private let types: UnsafeMutablePointer<UInt>
  private let answers: UnsafeMutablePointer<Answer?>

  init() {
    types = .allocate(capacity: entryCount)
    answers = .allocate(capacity: entryCount)
    types.initialize(repeating: 0, count: entryCount)
    answers.initialize(repeating: nil, count: entryCount)
  }

  /// `type as? Answer`.
  @inline(__always)
  subscript<T>(type: T.Type) -> Answer? {
    let bits = UInt(bitPattern: ObjectIdentifier(type))
    let home = Int((bits &* 0x9E37_79B9_7F4A_7C15) >> 57)
    return types[home] == bits ? answers[home] : probe(type, bits, from: home)
  }

  /// Probes the entries from `home` on. If 8 are taken, the new type replaces the first.
  @inline(never)
  private func probe<T>(_ type: T.Type, _ bits: UInt, from home: Int) -> Answer? {
    var taken = home
    for step in 0..<8 {
      let entry = (home + step) & (entryCount - 1)
      if types[entry] == bits { return answers[entry] }
      if types[entry] == 0 {
        taken = entry
        break
      }
    }
    types[taken] = bits
    answers[taken] = type as? Answer
    return answers[taken]
  }
}
