internal import HearthText

extension RegularExpression {
  /// A set of Unicode scalars: sorted ranges with gaps between them.
  struct ScalarSet: Hashable, Sendable {
    let ranges: [ClosedRange<UInt32>]

    init(_ unsorted: [ClosedRange<UInt32>]) {
      var ranges: [ClosedRange<UInt32>] = []
      for range in unsorted.sorted(by: { $0.lowerBound < $1.lowerBound }) {
        if let last = ranges.last, range.lowerBound <= last.upperBound + 1 {
          ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
        } else {
          ranges.append(range)
        }
      }
      self.ranges = ranges
    }

    init(_ scalar: Unicode.Scalar) { self.init([scalar.value...scalar.value]) }

    /// The ASCII scalars between each pair of characters.
    private init(ascii pairs: StaticString) {
      let bytes = pairs.description.utf8.map(UInt32.init)
      self.init(stride(from: 0, to: bytes.count, by: 2).map { bytes[$0]...bytes[$0 + 1] })
    }

    static let all = ScalarSet([0...0x10FFFF])
    static let newline = ScalarSet("\n")
    static let digit = ScalarSet(ascii: "09")
    static let word = ScalarSet(ascii: "azAZ09__")
    static let space = ScalarSet(ascii: "\t\n\u{C}\r  ")

    /// The scalar of a set that has only one.
    var onlyScalar: Unicode.Scalar? {
      guard ranges.count == 1, ranges[0].count == 1 else { return nil }
      return Unicode.Scalar(ranges[0].lowerBound)
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
      let next = ranges.partitioningIndex { $0.lowerBound > scalar.value }
      return next > 0 && ranges[next - 1].contains(scalar.value)
    }

    var inverted: ScalarSet {
      var gaps: [ClosedRange<UInt32>] = []
      var start: UInt32 = 0
      for range in ranges {
        if start < range.lowerBound { gaps.append(start...range.lowerBound - 1) }
        start = range.upperBound + 1
      }
      if start <= 0x10FFFF { gaps.append(start...0x10FFFF) }
      return ScalarSet(gaps)
    }

    // MARK: Case

    /// The set with all case variants of its scalars.
    var ignoringCase: ScalarSet {
      let cased = ScalarSet.casedScalars
      var variants: [ClosedRange<UInt32>] = []
      for range in ranges {
        var index = cased.partitioningIndex { $0.scalar >= range.lowerBound }
        while index < cased.count, cased[index].scalar <= range.upperBound {
          variants += cased[index].variants.map { $0...$0 }
          index += 1
        }
      }
      return variants.isEmpty ? self : ScalarSet(ranges + variants)
    }

    /// The scalars that have case variants, in order.
    private static let casedScalars: [(scalar: UInt32, variants: [UInt32])] = {
      var variants: [UInt32: [UInt32]] = [:]
      // All scalars with a case mapping. The tests compare with all of Unicode.
      let areas: [Range<UInt32>] = [
        0..<0x3000, 0xA640..<0xAC00, 0xFF21..<0xFF5B, 0x10400..<0x11900, 0x16E40..<0x16F00,
        0x1E900..<0x1E960,
      ]
      for scalar in areas.joined().compactMap(Unicode.Scalar.init) {
        variants[folded(scalar).value, default: []].append(scalar.value)
      }
      return variants.values.filter { $0.count > 1 }
        .flatMap { group in group.map { ($0, group) } }
        .sorted { $0.0 < $1.0 }
    }()

    /// The same scalar for all case variants.
    static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
      // The capital of the dotless i is I, but the two do not fold to the same scalar.
      if scalar == "\u{131}" { return scalar }
      let upper = scalar.properties.uppercaseMapping.unicodeScalars
      let capital = upper.count == 1 ? upper[upper.startIndex] : scalar
      let lower = capital.properties.lowercaseMapping.unicodeScalars
      return lower.count == 1 ? lower[lower.startIndex] : capital
    }

    // MARK: Named sets

    static let posix: [String: ScalarSet] = [
      "alnum": ScalarSet(ascii: "azAZ09"), "alpha": ScalarSet(ascii: "azAZ"),
      "ascii": ScalarSet(ascii: "\0\u{7F}"), "blank": ScalarSet(ascii: "  \t\t"),
      "cntrl": ScalarSet(ascii: "\0\u{1F}\u{7F}\u{7F}"), "digit": digit,
      "graph": ScalarSet(ascii: "!~"), "lower": ScalarSet(ascii: "az"),
      "print": ScalarSet(ascii: " ~"), "punct": ScalarSet(ascii: "!/:@[`{~"),
      "space": ScalarSet(ascii: "\t\r  "), "upper": ScalarSet(ascii: "AZ"), "word": word,
      "xdigit": ScalarSet(ascii: "09afAF"),
    ]

    /// The set of `\p{name}`: a general category or a script. Nil if the name is unknown.
    static func property(_ name: String) -> ScalarSet? {
      if let script = scripts[name] { return script }
      if name == "Any" { return all }
      let names = name == "L&" || name == "LC" ? ["Lu", "Ll", "Lt"] : [name]
      let parts = categories.filter { category, _ in names.contains { category.hasPrefix($0) } }
      return name.isEmpty || parts.isEmpty ? nil : ScalarSet(parts.values.flatMap(\.ranges))
    }

    /// The general categories, by their abbreviations of two letters.
    private static let categories: [String: ScalarSet] = {
      var ranges: [Unicode.GeneralCategory: [ClosedRange<UInt32>]] = [:]
      var start: UInt32 = 0
      var current = Unicode.GeneralCategory.control
      for value in 0...UInt32(0x110000) {
        // Only a scalar has properties; surrogates never occur in a text.
        let next = Unicode.Scalar(value)?.properties.generalCategory ?? .surrogate
        guard next != current || value == 0x110000 else { continue }
        ranges[current, default: []].append(start...value - 1)
        (start, current) = (value, next)
      }
      let names: [String: Unicode.GeneralCategory] = [
        "Lu": .uppercaseLetter, "Ll": .lowercaseLetter, "Lt": .titlecaseLetter,
        "Lm": .modifierLetter, "Lo": .otherLetter, "Mn": .nonspacingMark, "Mc": .spacingMark,
        "Me": .enclosingMark, "Nd": .decimalNumber, "Nl": .letterNumber, "No": .otherNumber,
        "Pc": .connectorPunctuation, "Pd": .dashPunctuation, "Ps": .openPunctuation,
        "Pe": .closePunctuation, "Pi": .initialPunctuation, "Pf": .finalPunctuation,
        "Po": .otherPunctuation, "Sm": .mathSymbol, "Sc": .currencySymbol,
        "Sk": .modifierSymbol, "So": .otherSymbol, "Zs": .spaceSeparator, "Zl": .lineSeparator,
        "Zp": .paragraphSeparator, "Cc": .control, "Cf": .format, "Cs": .surrogate,
        "Co": .privateUse, "Cn": .unassigned,
      ]
      return names.mapValues { ScalarSet(ranges[$0] ?? []) }
    }()

    /// Scripts.txt of Unicode 16. The standard library has no scripts.
    private static let scripts: [String: ScalarSet] = [
      "Latin": ScalarSet([
        0x41...0x5A, 0x61...0x7A, 0xAA...0xAA, 0xBA...0xBA, 0xC0...0xD6, 0xD8...0xF6, 0xF8...0x2B8,
        0x2E0...0x2E4, 0x1D00...0x1D25, 0x1D2C...0x1D5C, 0x1D62...0x1D65, 0x1D6B...0x1D77,
        0x1D79...0x1DBE, 0x1E00...0x1EFF, 0x2071...0x2071, 0x207F...0x207F, 0x2090...0x209C,
        0x212A...0x212B, 0x2132...0x2132, 0x214E...0x214E, 0x2160...0x2188, 0x2C60...0x2C7F,
        0xA722...0xA787, 0xA78B...0xA7CD, 0xA7D0...0xA7D1, 0xA7D3...0xA7D3, 0xA7D5...0xA7DC,
        0xA7F2...0xA7FF, 0xAB30...0xAB5A, 0xAB5C...0xAB64, 0xAB66...0xAB69, 0xFB00...0xFB06,
        0xFF21...0xFF3A, 0xFF41...0xFF5A, 0x10780...0x10785, 0x10787...0x107B0, 0x107B2...0x107BA,
        0x1DF00...0x1DF1E, 0x1DF25...0x1DF2A,
      ]),
      "Greek": ScalarSet([
        0x370...0x373, 0x375...0x377, 0x37A...0x37D, 0x37F...0x37F, 0x384...0x384, 0x386...0x386,
        0x388...0x38A, 0x38C...0x38C, 0x38E...0x3A1, 0x3A3...0x3E1, 0x3F0...0x3FF, 0x1D26...0x1D2A,
        0x1D5D...0x1D61, 0x1D66...0x1D6A, 0x1DBF...0x1DBF, 0x1F00...0x1F15, 0x1F18...0x1F1D,
        0x1F20...0x1F45, 0x1F48...0x1F4D, 0x1F50...0x1F57, 0x1F59...0x1F59, 0x1F5B...0x1F5B,
        0x1F5D...0x1F5D, 0x1F5F...0x1F7D, 0x1F80...0x1FB4, 0x1FB6...0x1FC4, 0x1FC6...0x1FD3,
        0x1FD6...0x1FDB, 0x1FDD...0x1FEF, 0x1FF2...0x1FF4, 0x1FF6...0x1FFE, 0x2126...0x2126,
        0xAB65...0xAB65, 0x10140...0x1018E, 0x101A0...0x101A0, 0x1D200...0x1D245,
      ]),
      "Cyrillic": ScalarSet([
        0x400...0x484, 0x487...0x52F, 0x1C80...0x1C8A, 0x1D2B...0x1D2B, 0x1D78...0x1D78,
        0x2DE0...0x2DFF, 0xA640...0xA69F, 0xFE2E...0xFE2F, 0x1E030...0x1E06D, 0x1E08F...0x1E08F,
      ]),
      "Han": ScalarSet([
        0x2E80...0x2E99, 0x2E9B...0x2EF3, 0x2F00...0x2FD5, 0x3005...0x3005, 0x3007...0x3007,
        0x3021...0x3029, 0x3038...0x303B, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFA6D,
        0xFA70...0xFAD9, 0x16FE2...0x16FE3, 0x16FF0...0x16FF1, 0x20000...0x2A6DF,
        0x2A700...0x2B739, 0x2B740...0x2B81D, 0x2B820...0x2CEA1, 0x2CEB0...0x2EBE0,
        0x2EBF0...0x2EE5D, 0x2F800...0x2FA1D, 0x30000...0x3134A, 0x31350...0x323AF,
      ]),
    ]
  }
}
