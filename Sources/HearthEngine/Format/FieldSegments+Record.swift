/// How a record stores a field: the number of its names, then the length and the bytes of each name. A missing field
/// is stored as zero names.
extension [UInt8] {
  mutating func append(namesOf field: FieldSegments?) {
    append(varint: UInt64(field?.names.count ?? 0))
    for name in field?.names ?? [] { append(lengthPrefixed: name.utf8) }
  }
}

extension FieldSegments {
  init(decoding reader: inout ByteCursor) throws(Status) {
    var names: [String] = []
    for _ in 0..<(try reader.length()) { names.append(try reader.text()) }
    self.init(names)
  }
}
