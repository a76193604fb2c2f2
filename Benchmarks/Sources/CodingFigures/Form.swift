import Foundation

/// A hundred scalars, as in a form or a table row: forty integers and twenty of each other kind.
struct Form: Measured {
  static let name = "flat, 100 fields"

  var field00: Int
  var field01: Double
  var field02: String
  var field03: Bool
  var field04: Int
  var field05: Int
  var field06: Double
  var field07: String
  var field08: Bool
  var field09: Int
  var field10: Int
  var field11: Double
  var field12: String
  var field13: Bool
  var field14: Int
  var field15: Int
  var field16: Double
  var field17: String
  var field18: Bool
  var field19: Int
  var field20: Int
  var field21: Double
  var field22: String
  var field23: Bool
  var field24: Int
  var field25: Int
  var field26: Double
  var field27: String
  var field28: Bool
  var field29: Int
  var field30: Int
  var field31: Double
  var field32: String
  var field33: Bool
  var field34: Int
  var field35: Int
  var field36: Double
  var field37: String
  var field38: Bool
  var field39: Int
  var field40: Int
  var field41: Double
  var field42: String
  var field43: Bool
  var field44: Int
  var field45: Int
  var field46: Double
  var field47: String
  var field48: Bool
  var field49: Int
  var field50: Int
  var field51: Double
  var field52: String
  var field53: Bool
  var field54: Int
  var field55: Int
  var field56: Double
  var field57: String
  var field58: Bool
  var field59: Int
  var field60: Int
  var field61: Double
  var field62: String
  var field63: Bool
  var field64: Int
  var field65: Int
  var field66: Double
  var field67: String
  var field68: Bool
  var field69: Int
  var field70: Int
  var field71: Double
  var field72: String
  var field73: Bool
  var field74: Int
  var field75: Int
  var field76: Double
  var field77: String
  var field78: Bool
  var field79: Int
  var field80: Int
  var field81: Double
  var field82: String
  var field83: Bool
  var field84: Int
  var field85: Int
  var field86: Double
  var field87: String
  var field88: Bool
  var field89: Int
  var field90: Int
  var field91: Double
  var field92: String
  var field93: Bool
  var field94: Int
  var field95: Int
  var field96: Double
  var field97: String
  var field98: Bool
  var field99: Int

  @inline(__always)
  func mix(into mixer: inout Mixer) {
    mixer.mix(field00)
    mixer.mix(field01)
    mixer.mix(field02)
    mixer.mix(field03)
    mixer.mix(field04)
    mixer.mix(field05)
    mixer.mix(field06)
    mixer.mix(field07)
    mixer.mix(field08)
    mixer.mix(field09)
    mixer.mix(field10)
    mixer.mix(field11)
    mixer.mix(field12)
    mixer.mix(field13)
    mixer.mix(field14)
    mixer.mix(field15)
    mixer.mix(field16)
    mixer.mix(field17)
    mixer.mix(field18)
    mixer.mix(field19)
    mixer.mix(field20)
    mixer.mix(field21)
    mixer.mix(field22)
    mixer.mix(field23)
    mixer.mix(field24)
    mixer.mix(field25)
    mixer.mix(field26)
    mixer.mix(field27)
    mixer.mix(field28)
    mixer.mix(field29)
    mixer.mix(field30)
    mixer.mix(field31)
    mixer.mix(field32)
    mixer.mix(field33)
    mixer.mix(field34)
    mixer.mix(field35)
    mixer.mix(field36)
    mixer.mix(field37)
    mixer.mix(field38)
    mixer.mix(field39)
    mixer.mix(field40)
    mixer.mix(field41)
    mixer.mix(field42)
    mixer.mix(field43)
    mixer.mix(field44)
    mixer.mix(field45)
    mixer.mix(field46)
    mixer.mix(field47)
    mixer.mix(field48)
    mixer.mix(field49)
    mixer.mix(field50)
    mixer.mix(field51)
    mixer.mix(field52)
    mixer.mix(field53)
    mixer.mix(field54)
    mixer.mix(field55)
    mixer.mix(field56)
    mixer.mix(field57)
    mixer.mix(field58)
    mixer.mix(field59)
    mixer.mix(field60)
    mixer.mix(field61)
    mixer.mix(field62)
    mixer.mix(field63)
    mixer.mix(field64)
    mixer.mix(field65)
    mixer.mix(field66)
    mixer.mix(field67)
    mixer.mix(field68)
    mixer.mix(field69)
    mixer.mix(field70)
    mixer.mix(field71)
    mixer.mix(field72)
    mixer.mix(field73)
    mixer.mix(field74)
    mixer.mix(field75)
    mixer.mix(field76)
    mixer.mix(field77)
    mixer.mix(field78)
    mixer.mix(field79)
    mixer.mix(field80)
    mixer.mix(field81)
    mixer.mix(field82)
    mixer.mix(field83)
    mixer.mix(field84)
    mixer.mix(field85)
    mixer.mix(field86)
    mixer.mix(field87)
    mixer.mix(field88)
    mixer.mix(field89)
    mixer.mix(field90)
    mixer.mix(field91)
    mixer.mix(field92)
    mixer.mix(field93)
    mixer.mix(field94)
    mixer.mix(field95)
    mixer.mix(field96)
    mixer.mix(field97)
    mixer.mix(field98)
    mixer.mix(field99)
  }
}

extension Form {
  init(_ index: Int) {
    field00 = index + 0
    field01 = Double(index + 1) / 8
    field02 = "a text of some length 2"
    field03 = (index + 3) % 2 == 0
    field04 = index + 4
    field05 = index + 5
    field06 = Double(index + 6) / 8
    field07 = "a text of some length 7"
    field08 = (index + 8) % 2 == 0
    field09 = index + 9
    field10 = index + 10
    field11 = Double(index + 11) / 8
    field12 = "a text of some length 12"
    field13 = (index + 13) % 2 == 0
    field14 = index + 14
    field15 = index + 15
    field16 = Double(index + 16) / 8
    field17 = "a text of some length 17"
    field18 = (index + 18) % 2 == 0
    field19 = index + 19
    field20 = index + 20
    field21 = Double(index + 21) / 8
    field22 = "a text of some length 22"
    field23 = (index + 23) % 2 == 0
    field24 = index + 24
    field25 = index + 25
    field26 = Double(index + 26) / 8
    field27 = "a text of some length 27"
    field28 = (index + 28) % 2 == 0
    field29 = index + 29
    field30 = index + 30
    field31 = Double(index + 31) / 8
    field32 = "a text of some length 32"
    field33 = (index + 33) % 2 == 0
    field34 = index + 34
    field35 = index + 35
    field36 = Double(index + 36) / 8
    field37 = "a text of some length 37"
    field38 = (index + 38) % 2 == 0
    field39 = index + 39
    field40 = index + 40
    field41 = Double(index + 41) / 8
    field42 = "a text of some length 42"
    field43 = (index + 43) % 2 == 0
    field44 = index + 44
    field45 = index + 45
    field46 = Double(index + 46) / 8
    field47 = "a text of some length 47"
    field48 = (index + 48) % 2 == 0
    field49 = index + 49
    field50 = index + 50
    field51 = Double(index + 51) / 8
    field52 = "a text of some length 52"
    field53 = (index + 53) % 2 == 0
    field54 = index + 54
    field55 = index + 55
    field56 = Double(index + 56) / 8
    field57 = "a text of some length 57"
    field58 = (index + 58) % 2 == 0
    field59 = index + 59
    field60 = index + 60
    field61 = Double(index + 61) / 8
    field62 = "a text of some length 62"
    field63 = (index + 63) % 2 == 0
    field64 = index + 64
    field65 = index + 65
    field66 = Double(index + 66) / 8
    field67 = "a text of some length 67"
    field68 = (index + 68) % 2 == 0
    field69 = index + 69
    field70 = index + 70
    field71 = Double(index + 71) / 8
    field72 = "a text of some length 72"
    field73 = (index + 73) % 2 == 0
    field74 = index + 74
    field75 = index + 75
    field76 = Double(index + 76) / 8
    field77 = "a text of some length 77"
    field78 = (index + 78) % 2 == 0
    field79 = index + 79
    field80 = index + 80
    field81 = Double(index + 81) / 8
    field82 = "a text of some length 82"
    field83 = (index + 83) % 2 == 0
    field84 = index + 84
    field85 = index + 85
    field86 = Double(index + 86) / 8
    field87 = "a text of some length 87"
    field88 = (index + 88) % 2 == 0
    field89 = index + 89
    field90 = index + 90
    field91 = Double(index + 91) / 8
    field92 = "a text of some length 92"
    field93 = (index + 93) % 2 == 0
    field94 = index + 94
    field95 = index + 95
    field96 = Double(index + 96) / 8
    field97 = "a text of some length 97"
    field98 = (index + 98) % 2 == 0
    field99 = index + 99
  }
}

extension Form: HandWritten {
  private static let shape = MapShape(
    (0..<100).map { String(format: "field%02d", $0) }, valueWidth: 2)

  static func write(_ value: Form, to writer: inout HandWriter) {
    var map = writer.map(shape)
    writer.integer(value.field00)
    writer.end(&map)
    writer.double(value.field01)
    writer.end(&map)
    writer.string(value.field02)
    writer.end(&map)
    writer.boolean(value.field03)
    writer.end(&map)
    writer.integer(value.field04)
    writer.end(&map)
    writer.integer(value.field05)
    writer.end(&map)
    writer.double(value.field06)
    writer.end(&map)
    writer.string(value.field07)
    writer.end(&map)
    writer.boolean(value.field08)
    writer.end(&map)
    writer.integer(value.field09)
    writer.end(&map)
    writer.integer(value.field10)
    writer.end(&map)
    writer.double(value.field11)
    writer.end(&map)
    writer.string(value.field12)
    writer.end(&map)
    writer.boolean(value.field13)
    writer.end(&map)
    writer.integer(value.field14)
    writer.end(&map)
    writer.integer(value.field15)
    writer.end(&map)
    writer.double(value.field16)
    writer.end(&map)
    writer.string(value.field17)
    writer.end(&map)
    writer.boolean(value.field18)
    writer.end(&map)
    writer.integer(value.field19)
    writer.end(&map)
    writer.integer(value.field20)
    writer.end(&map)
    writer.double(value.field21)
    writer.end(&map)
    writer.string(value.field22)
    writer.end(&map)
    writer.boolean(value.field23)
    writer.end(&map)
    writer.integer(value.field24)
    writer.end(&map)
    writer.integer(value.field25)
    writer.end(&map)
    writer.double(value.field26)
    writer.end(&map)
    writer.string(value.field27)
    writer.end(&map)
    writer.boolean(value.field28)
    writer.end(&map)
    writer.integer(value.field29)
    writer.end(&map)
    writer.integer(value.field30)
    writer.end(&map)
    writer.double(value.field31)
    writer.end(&map)
    writer.string(value.field32)
    writer.end(&map)
    writer.boolean(value.field33)
    writer.end(&map)
    writer.integer(value.field34)
    writer.end(&map)
    writer.integer(value.field35)
    writer.end(&map)
    writer.double(value.field36)
    writer.end(&map)
    writer.string(value.field37)
    writer.end(&map)
    writer.boolean(value.field38)
    writer.end(&map)
    writer.integer(value.field39)
    writer.end(&map)
    writer.integer(value.field40)
    writer.end(&map)
    writer.double(value.field41)
    writer.end(&map)
    writer.string(value.field42)
    writer.end(&map)
    writer.boolean(value.field43)
    writer.end(&map)
    writer.integer(value.field44)
    writer.end(&map)
    writer.integer(value.field45)
    writer.end(&map)
    writer.double(value.field46)
    writer.end(&map)
    writer.string(value.field47)
    writer.end(&map)
    writer.boolean(value.field48)
    writer.end(&map)
    writer.integer(value.field49)
    writer.end(&map)
    writer.integer(value.field50)
    writer.end(&map)
    writer.double(value.field51)
    writer.end(&map)
    writer.string(value.field52)
    writer.end(&map)
    writer.boolean(value.field53)
    writer.end(&map)
    writer.integer(value.field54)
    writer.end(&map)
    writer.integer(value.field55)
    writer.end(&map)
    writer.double(value.field56)
    writer.end(&map)
    writer.string(value.field57)
    writer.end(&map)
    writer.boolean(value.field58)
    writer.end(&map)
    writer.integer(value.field59)
    writer.end(&map)
    writer.integer(value.field60)
    writer.end(&map)
    writer.double(value.field61)
    writer.end(&map)
    writer.string(value.field62)
    writer.end(&map)
    writer.boolean(value.field63)
    writer.end(&map)
    writer.integer(value.field64)
    writer.end(&map)
    writer.integer(value.field65)
    writer.end(&map)
    writer.double(value.field66)
    writer.end(&map)
    writer.string(value.field67)
    writer.end(&map)
    writer.boolean(value.field68)
    writer.end(&map)
    writer.integer(value.field69)
    writer.end(&map)
    writer.integer(value.field70)
    writer.end(&map)
    writer.double(value.field71)
    writer.end(&map)
    writer.string(value.field72)
    writer.end(&map)
    writer.boolean(value.field73)
    writer.end(&map)
    writer.integer(value.field74)
    writer.end(&map)
    writer.integer(value.field75)
    writer.end(&map)
    writer.double(value.field76)
    writer.end(&map)
    writer.string(value.field77)
    writer.end(&map)
    writer.boolean(value.field78)
    writer.end(&map)
    writer.integer(value.field79)
    writer.end(&map)
    writer.integer(value.field80)
    writer.end(&map)
    writer.double(value.field81)
    writer.end(&map)
    writer.string(value.field82)
    writer.end(&map)
    writer.boolean(value.field83)
    writer.end(&map)
    writer.integer(value.field84)
    writer.end(&map)
    writer.integer(value.field85)
    writer.end(&map)
    writer.double(value.field86)
    writer.end(&map)
    writer.string(value.field87)
    writer.end(&map)
    writer.boolean(value.field88)
    writer.end(&map)
    writer.integer(value.field89)
    writer.end(&map)
    writer.integer(value.field90)
    writer.end(&map)
    writer.double(value.field91)
    writer.end(&map)
    writer.string(value.field92)
    writer.end(&map)
    writer.boolean(value.field93)
    writer.end(&map)
    writer.integer(value.field94)
    writer.end(&map)
    writer.integer(value.field95)
    writer.end(&map)
    writer.double(value.field96)
    writer.end(&map)
    writer.string(value.field97)
    writer.end(&map)
    writer.boolean(value.field98)
    writer.end(&map)
    writer.integer(value.field99)
    writer.end(&map)
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Form {
    let map = HandMap(bytes, shape)
    return Form(
      field00: HandReader.integer(map[0]),
      field01: HandReader.double(map[1]),
      field02: HandReader.string(map[2]),
      field03: HandReader.boolean(map[3]),
      field04: HandReader.integer(map[4]),
      field05: HandReader.integer(map[5]),
      field06: HandReader.double(map[6]),
      field07: HandReader.string(map[7]),
      field08: HandReader.boolean(map[8]),
      field09: HandReader.integer(map[9]),
      field10: HandReader.integer(map[10]),
      field11: HandReader.double(map[11]),
      field12: HandReader.string(map[12]),
      field13: HandReader.boolean(map[13]),
      field14: HandReader.integer(map[14]),
      field15: HandReader.integer(map[15]),
      field16: HandReader.double(map[16]),
      field17: HandReader.string(map[17]),
      field18: HandReader.boolean(map[18]),
      field19: HandReader.integer(map[19]),
      field20: HandReader.integer(map[20]),
      field21: HandReader.double(map[21]),
      field22: HandReader.string(map[22]),
      field23: HandReader.boolean(map[23]),
      field24: HandReader.integer(map[24]),
      field25: HandReader.integer(map[25]),
      field26: HandReader.double(map[26]),
      field27: HandReader.string(map[27]),
      field28: HandReader.boolean(map[28]),
      field29: HandReader.integer(map[29]),
      field30: HandReader.integer(map[30]),
      field31: HandReader.double(map[31]),
      field32: HandReader.string(map[32]),
      field33: HandReader.boolean(map[33]),
      field34: HandReader.integer(map[34]),
      field35: HandReader.integer(map[35]),
      field36: HandReader.double(map[36]),
      field37: HandReader.string(map[37]),
      field38: HandReader.boolean(map[38]),
      field39: HandReader.integer(map[39]),
      field40: HandReader.integer(map[40]),
      field41: HandReader.double(map[41]),
      field42: HandReader.string(map[42]),
      field43: HandReader.boolean(map[43]),
      field44: HandReader.integer(map[44]),
      field45: HandReader.integer(map[45]),
      field46: HandReader.double(map[46]),
      field47: HandReader.string(map[47]),
      field48: HandReader.boolean(map[48]),
      field49: HandReader.integer(map[49]),
      field50: HandReader.integer(map[50]),
      field51: HandReader.double(map[51]),
      field52: HandReader.string(map[52]),
      field53: HandReader.boolean(map[53]),
      field54: HandReader.integer(map[54]),
      field55: HandReader.integer(map[55]),
      field56: HandReader.double(map[56]),
      field57: HandReader.string(map[57]),
      field58: HandReader.boolean(map[58]),
      field59: HandReader.integer(map[59]),
      field60: HandReader.integer(map[60]),
      field61: HandReader.double(map[61]),
      field62: HandReader.string(map[62]),
      field63: HandReader.boolean(map[63]),
      field64: HandReader.integer(map[64]),
      field65: HandReader.integer(map[65]),
      field66: HandReader.double(map[66]),
      field67: HandReader.string(map[67]),
      field68: HandReader.boolean(map[68]),
      field69: HandReader.integer(map[69]),
      field70: HandReader.integer(map[70]),
      field71: HandReader.double(map[71]),
      field72: HandReader.string(map[72]),
      field73: HandReader.boolean(map[73]),
      field74: HandReader.integer(map[74]),
      field75: HandReader.integer(map[75]),
      field76: HandReader.double(map[76]),
      field77: HandReader.string(map[77]),
      field78: HandReader.boolean(map[78]),
      field79: HandReader.integer(map[79]),
      field80: HandReader.integer(map[80]),
      field81: HandReader.double(map[81]),
      field82: HandReader.string(map[82]),
      field83: HandReader.boolean(map[83]),
      field84: HandReader.integer(map[84]),
      field85: HandReader.integer(map[85]),
      field86: HandReader.double(map[86]),
      field87: HandReader.string(map[87]),
      field88: HandReader.boolean(map[88]),
      field89: HandReader.integer(map[89]),
      field90: HandReader.integer(map[90]),
      field91: HandReader.double(map[91]),
      field92: HandReader.string(map[92]),
      field93: HandReader.boolean(map[93]),
      field94: HandReader.integer(map[94]),
      field95: HandReader.integer(map[95]),
      field96: HandReader.double(map[96]),
      field97: HandReader.string(map[97]),
      field98: HandReader.boolean(map[98]),
      field99: HandReader.integer(map[99]))
  }
}
