import Foundation

/// Numbers that are the same in every run (splitmix64).
struct Numbers: RandomNumberGenerator {
  private var state: UInt64

  /// - Parameters:
  ///   - kind: Of what the numbers are for: books, authors, reviews.
  ///   - index: Of one of them.
  init(_ kind: UInt64, _ index: Int) {
    state = kind &* 0xD1B5_4A32_D192_ED03 &+ UInt64(index) &* 0x2545_F491_4F6C_DD1D
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}

/// 20,000 words whose frequencies follow Zipf's law, as those of a language do.
struct Vocabulary: Sendable {
  static let count = 20_000

  let words: [String]
  private let cumulative: [Double]

  init() {
    let onsets = ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "br"]
    let rhymes = ["a", "e", "i", "o", "u", "an", "er", "is", "on", "ul", "ea", "or"]
    let syllables = onsets.flatMap { onset in rhymes.map { onset + $0 } }
    // Frequent words are short.
    words = (0..<Self.count).map { rank in
      var (word, rest) = ("", rank)
      repeat {
        word += syllables[rest % syllables.count]
        rest /= syllables.count
      } while rest > 0
      return rank < syllables.count ? word + "n" : word
    }
    var sum = 0.0
    cumulative = (0..<Self.count).map { rank in
      sum += 1 / (Double(rank) + 2.7)
      return sum
    }
  }

  func word(_ numbers: inout Numbers) -> String {
    let wanted = numbers.fraction() * (cumulative.last ?? 0)
    var (low, high) = (0, cumulative.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if cumulative[middle] < wanted { low = middle + 1 } else { high = middle }
    }
    return words[low]
  }

  func text(_ count: Int, _ numbers: inout Numbers) -> String {
    (0..<count).map { _ in word(&numbers) }.joined(separator: " ")
  }
}
