/// How the value types pass through coders.
///
/// Firestore's own coders take them as they are. Every other coder sees plain keyed containers; a
/// `FieldValue` means nothing to it.

private enum TimestampKeys: String, CodingKey { case seconds, nanoseconds }
private enum GeoPointKeys: String, CodingKey { case latitude, longitude }
private enum VectorKeys: String, CodingKey { case array }

extension Timestamp: Codable {
  public convenience init(from decoder: any Decoder) throws {
    if let instant = try DocumentDecoder.of(decoder)?.decodeTimestamp() {
      self.init(instant)
      return
    }
    let container = try decoder.container(keyedBy: TimestampKeys.self)
    self.init(
      seconds: try container.decode(Int64.self, forKey: .seconds),
      nanoseconds: try container.decode(Int32.self, forKey: .nanoseconds))
  }

  public func encode(to encoder: any Encoder) throws {
    if let sink = DocumentSink(encoder) { return try sink.encode(timestamp: instant()) }
    var container = encoder.container(keyedBy: TimestampKeys.self)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(nanoseconds, forKey: .nanoseconds)
  }
}

extension GeoPoint: Codable {
  public convenience init(from decoder: any Decoder) throws {
    if let coordinate = try DocumentDecoder.of(decoder)?.decodeCoordinate() {
      self.init(coordinate)
      return
    }
    let container = try decoder.container(keyedBy: GeoPointKeys.self)
    self.init(
      latitude: try container.decode(Double.self, forKey: .latitude),
      longitude: try container.decode(Double.self, forKey: .longitude))
  }

  public func encode(to encoder: any Encoder) throws {
    if let sink = DocumentSink(encoder) { return try sink.encode(coordinate: coordinate()) }
    var container = encoder.container(keyedBy: GeoPointKeys.self)
    try container.encode(latitude, forKey: .latitude)
    try container.encode(longitude, forKey: .longitude)
  }
}

extension VectorValue: Codable {
  public convenience init(from decoder: any Decoder) throws {
    if let vector = try DocumentDecoder.of(decoder)?.decodeVector() {
      self.init(vector)
      return
    }
    let container = try decoder.container(keyedBy: VectorKeys.self)
    self.init(try container.decode([Double].self, forKey: .array))
  }

  public func encode(to encoder: any Encoder) throws {
    if let sink = DocumentSink(encoder) { return try sink.encode(vector: array) }
    var container = encoder.container(keyedBy: VectorKeys.self)
    try container.encode(array, forKey: .array)
  }
}

extension FieldValue: Encodable {
  public func encode(to encoder: any Encoder) throws {
    guard let sink = DocumentSink(encoder) else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "FieldValue values can only be encoded with Firestore.Encoder")
    }
    if let fault { throw fault }
    try sink.encode(transform: transform, of: database)
  }
}
