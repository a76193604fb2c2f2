/// The full check: accepts only the canonical form of a document.
extension DocumentBody {
  /// Throws `dataLoss` unless the bytes are exactly what a `DocumentWriter` makes of some document.
  static func validate(_ body: UnsafeRawBufferPointer) throws(Status) {
    try validate(StoredBody(body))
  }

  /// Checks a body as stored, including its name table.
  static func validate(_ body: StoredBody) throws(Status) {
    try validate(
      MapView(body: body), in: ValueView(body), isDocument: true,
      depthLeft: DocumentFormat.maximumDepth)
  }

  private static func validate(
    _ map: MapView, in value: ValueView, isDocument: Bool, depthLeft: Int
  ) throws(Status) {
    var nameBytes = 0
    var valueBytes = 0
    var previous = UnsafeRawBufferPointer(start: nil, count: 0)
    for index in 0..<map.count {
      let name = try map.name(at: index)
      guard !name.isEmpty else { throw .dataLoss("A stored field has an empty name.") }
      guard UTF8Order.compare(previous, name) < 0 else {
        throw .dataLoss("A stored map's names are not sorted.")
      }
      try validate(utf8: name)
      previous = name
      let value = try map.value(at: index)
      nameBytes += name.count
      valueBytes += value.bytes.count
      try validate(value, depthLeft: depthLeft)
    }
    let nameWidth = UInt8(DocumentFormat.widthCode(nameBytes))
    let valueWidth = UInt8(DocumentFormat.widthCode(valueBytes))
    let tag: UInt8
    if isDocument, value.nameTable != nil {
      tag = DocumentFormat.Tag.mapWithoutNames
    } else if let nameTable = value.nameTable, !nameTable.pointee.inner.isEmpty, map.count > 0 {
      tag = DocumentFormat.Tag.innerMapWithoutNames
    } else {
      tag = DocumentFormat.Tag.map | nameWidth << 2
    }
    guard map.values.widthCode == valueWidth, map.names.widthCode == nameWidth else {
      throw .dataLoss("A stored map's offsets are wider than they need to be.")
    }
    guard value.tag & ~3 == tag else {
      throw .dataLoss("A stored map has its names elsewhere than its document says.")
    }
  }

  private static func validate(_ value: ValueView, depthLeft: Int) throws(Status) {
    guard try ValueView.length(atFrontOf: value.bytes, in: value.nameTable) == value.bytes.count
    else {
      throw .dataLoss("A stored value is shorter than its place.")
    }
    switch try value.kind() {
    case .null, .boolean: break
    case .integer:
      try validate(number: try value.integer(), in: value)
    case .timestamp:
      try validate(number: try value.timestamp()?.microseconds, in: value)
    case .double:
      guard let double = try value.double() else { return }
      let isMinimal =
        double.isNaN
        ? value.tag == DocumentFormat.Tag.nan
        : (DocumentFormat.exactFloat(double) != nil) == (value.tag == DocumentFormat.Tag.float)
      guard isMinimal else { throw .dataLoss("A stored double is not in its shortest form.") }
    case .string:
      guard let utf8 = try value.stringBytes() else { return }
      let isShort = utf8.count <= DocumentFormat.shortStringLimit
      guard isShort == (value.tag != DocumentFormat.Tag.string) else {
        throw .dataLoss("A stored string is not in its shortest form.")
      }
      try validate(utf8: utf8)
    case .bytes: break
    case .reference:
      guard let path = try value.reference() else { return }
      let byteCount = path.byteCount
      // The path's text must be the stored text: no empty segments.
      let stored = value.bytes.count - DocumentFormat.varintCount(UInt64(byteCount)) - 1
      guard path.isDocument, byteCount == stored else {
        throw .dataLoss("A stored reference is not the path of a document.")
      }
    case .geoPoint:
      guard let point = try value.geoPoint() else { return }
      try validate(nan: point.latitude)
      try validate(nan: point.longitude)
    case .vector:
      guard let numbers = try value.vector() else { return }
      for number in numbers { try validate(nan: number) }
    case .array:
      guard depthLeft > 0 else { throw .tooDeep }
      guard var array = try value.array() else { return }
      for _ in 0..<array.count { try validate(try array.next(), depthLeft: depthLeft - 1) }
      guard array.elements.isEmpty else {
        throw .dataLoss("A stored array is longer than its elements.")
      }
    case .map:
      guard depthLeft > 0 else { throw .tooDeep }
      guard let map = try value.map() else { return }
      try validate(map, in: value, isDocument: false, depthLeft: depthLeft - 1)
    }
  }

  private static func validate(number: Int64?, in value: ValueView) throws(Status) {
    guard let number, DocumentFormat.byteCount(number) == value.bytes.count - 1 else {
      throw .dataLoss("A stored number is not in its shortest form.")
    }
  }

  private static func validate(nan number: Double) throws(Status) {
    guard DocumentFormat.storedBits(number) == number.bitPattern else {
      throw .dataLoss("A stored NaN is not the one NaN.")
    }
  }

  private static func validate(utf8: UnsafeRawBufferPointer) throws(Status) {
    guard String(storedUTF8: utf8) != nil else { throw .dataLoss("A stored text is not UTF-8.") }
  }
}
