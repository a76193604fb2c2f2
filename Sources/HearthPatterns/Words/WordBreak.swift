/// The word break property of a scalar (UAX #29), reduced to what begins, joins and ends words.
enum WordBreak: UInt8 {
  /// Ends a word: spaces, punctuation, symbols, emoji.
  case other
  /// Belongs to the scalar before it: marks, format characters, ZWJ.
  case extend
  case letter, hebrewLetter, numeric, katakana
  /// A word of its own: Han, Hiragana.
  case ideograph
  /// A letter of a script without spaces between words: Thai, Lao, Khmer, Myanmar. A run of them is
  /// one word, because there is no dictionary.
  case complexContext
  case extendNumLet
  case midLetter, midNum, midNumLet, doubleQuote

  /// Differs from UAX #29 in two points. The colon is no MidLetter, as in CLDR's root locale, and
  /// letters of complex context join one another.
  init(_ scalar: Unicode.Scalar) {
    let properties = scalar.properties
    switch scalar.value {
    case 0x22: self = .doubleQuote
    case 0x27, 0x2E, 0x2018, 0x2019, 0x2024, 0xFE52, 0xFF07, 0xFF0E: self = .midNumLet
    case 0xB7, 0x387, 0x55F, 0x5F3, 0x5F4, 0x2027: self = .midLetter
    case 0x2C, 0x3B, 0x37E, 0x589, 0x60C, 0x60D, 0x66C, 0x7F8, 0x2044, 0xFE10, 0xFE14, 0xFE50,
      0xFE54, 0xFF0C, 0xFF1B:
      self = .midNum
    case 0x66B: self = .numeric
    case 0x200B: self = .other
    case 0x202F: self = .extendNumLet
    case 0x5D0...0x5EA, 0x5EF...0x5F2, 0xFB1D, 0xFB1F...0xFB28, 0xFB2A...0xFB4F:
      self = .hebrewLetter
    case 0x3031...0x3035, 0x309B...0x309C, 0x30A0...0x30FA, 0x30FC...0x30FF, 0x31F0...0x31FF,
      0x32D0...0x32FE, 0x3300...0x3357, 0xFF66...0xFF9D, 0x1AFF0...0x1AFFE, 0x1B000,
      0x1B120...0x1B122, 0x1B155, 0x1B164...0x1B167:
      self = .katakana
    case 0x3041...0x3096, 0x309D...0x309F, 0x1B001...0x1B11F, 0x1B132, 0x1B150...0x1B152, 0x1F200:
      self = .ideograph
    case _ where properties.isGraphemeExtend || properties.isEmojiModifier: self = .extend
    default:
      switch properties.generalCategory {
      case .format, .spacingMark: self = .extend
      case .decimalNumber: self = .numeric
      case .connectorPunctuation: self = .extendNumLet
      case _ where properties.isIdeographic: self = .ideograph
      case _ where !properties.isAlphabetic: self = .other
      default: self = Self.isComplexContext(scalar.value) ? .complexContext : .letter
      }
    }
  }

  /// Blocks of letters whose line break property is Complex_Context. The standard library has no
  /// such property.
  private static func isComplexContext(_ value: UInt32) -> Bool {
    switch value {
    case 0xE00...0xEFF, 0x1000...0x109F, 0x1780...0x17FF, 0x1950...0x19DF, 0x1A20...0x1AAF,
      0xA9E0...0xA9FF, 0xAA60...0xAADF, 0x11700...0x1174F:
      true
    default: false
    }
  }

  private var isAlphabeticLetter: Bool { self == .letter || self == .hebrewLetter }

  /// Whether a scalar of this kind makes a word of what contains it. A lone `_` is no word.
  var isWordCharacter: Bool {
    switch self {
    case .letter, .hebrewLetter, .numeric, .katakana, .ideograph, .complexContext: true
    default: false
    }
  }

  /// Punctuation that is within a word between letters or digits.
  var isMiddle: Bool {
    switch self {
    case .midLetter, .midNum, .midNumLet, .doubleQuote: true
    default: false
    }
  }

  /// Whether `next` continues the word (WB5, WB8–WB10, WB13–WB13b).
  func joins(_ next: WordBreak) -> Bool {
    switch self {
    case .letter, .hebrewLetter, .numeric:
      next.isAlphabeticLetter || next == .numeric || next == .extendNumLet
    case .katakana: next == .katakana || next == .extendNumLet
    case .extendNumLet:
      next.isAlphabeticLetter || next == .numeric || next == .katakana || next == .extendNumLet
    case .complexContext: next == .complexContext
    default: false
    }
  }

  /// Whether `next` continues the word after the punctuation `middle` (WB6, WB7, WB7b, WB11).
  func joins(_ next: WordBreak, over middle: WordBreak) -> Bool {
    switch middle {
    case .midLetter: isAlphabeticLetter && next.isAlphabeticLetter
    case .midNum: self == .numeric && next == .numeric
    case .midNumLet:
      isAlphabeticLetter && next.isAlphabeticLetter || self == .numeric && next == .numeric
    case .doubleQuote: self == .hebrewLetter && next == .hebrewLetter
    default: false
    }
  }
}
