internal import HearthText

/// `Codable` conformances of the Firestore value types.
///
/// Firestore's own coders store the values as they are; so do other structure coders for their
/// passthrough types. Every other coder gets plain keyed containers. A `FieldValue` can only be
/// encoded by a coder that knows it.

private enum TimestampKeys: String, CodingKey { case seconds, nanoseconds }
private enum GeoPointKeys: String, CodingKey { case latitude, longitude }
private enum VectorKeys: String, CodingKey { case array }

extension Timestamp: Codable {
  /// With Firestore's decoder, reads a timestamp of a document; with any other, such as `JSONDecoder`, an object,
  /// `{"seconds": 1700000000, "nanoseconds": 0}`, or a text as in RFC 3339, `"2026-02-28T12:00:00.5Z"`. Throws
  /// `DecodingError` for anything else.
  public convenience init(from decoder: any Decoder) throws {
    if let instant = try DocumentDecoder.of(decoder)?.decodeTimestamp() {
      self.init(instant)
      return
    }
    if let moment = StructureDecoder.of(decoder)?.timestamp {
      self.init(seconds: moment.seconds, nanoseconds: moment.nanoseconds)
      return
    }
    // A text of a document, or of the dictionary of one, is not a time.
    let isOurs = DocumentDecoder.of(decoder) != nil || StructureDecoder.of(decoder) != nil
    if !isOurs, let text = Self.text(of: decoder) {
      guard let time = RFC3339.read(text, takesLowercase: true) else {
        throw DecodingError.dataCorrupted(
          .init(
            decoder.codingPath,
            "'\(text)' is not a timestamp. A timestamp has the form 2026-02-28T12:00:00.000Z."))
      }
      self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
      return
    }
    let container = try decoder.container(keyedBy: TimestampKeys.self)
    self.init(
      seconds: try container.decode(Int64.self, forKey: .seconds),
      nanoseconds: try container.decode(Int32.self, forKey: .nanoseconds))
  }

  private static func text(of decoder: any Decoder) -> String? {
    try? decoder.singleValueContainer().decode(String.self)
  }

  /// With Firestore's encoder, writes a timestamp; with any other, the object that `init(from:)` reads.
  public func encode(to encoder: any Encoder) throws {
    if let sink = DocumentSink(encoder, for: self) { return try sink.encode(self) }
    var container = encoder.container(keyedBy: TimestampKeys.self)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(nanoseconds, forKey: .nanoseconds)
  }
}

extension GeoPoint: Codable {
  /// With Firestore's decoder, reads a geographical point of a document; with any other, such as `JSONDecoder`, an object:
  /// `{"latitude": 48.3, "longitude": 14.29}`. Throws `DecodingError` for anything else.
  public convenience init(from decoder: any Decoder) throws {
    if let coordinate = try DocumentDecoder.of(decoder)?.decodeCoordinate() {
      self.init(coordinate)
      return
    }
    if let point = StructureDecoder.of(decoder)?.object(GeoPoint.self) {
      self.init(latitude: point.latitude, longitude: point.longitude)
      return
    }
    let container = try decoder.container(keyedBy: GeoPointKeys.self)
    self.init(
      latitude: try container.decode(Double.self, forKey: .latitude),
      longitude: try container.decode(Double.self, forKey: .longitude))
  }

  /// With Firestore's encoder, writes a geographical point; with any other, the object that `init(from:)` reads.
  public func encode(to encoder: any Encoder) throws {
    if let sink = DocumentSink(encoder, for: self) { return try sink.encode(self) }
    var container = encoder.container(keyedBy: GeoPointKeys.self)
    try container.encode(latitude, forKey: .latitude)
    try container.encode(longitude, forKey: .longitude)
  }
}

extension VectorValue: Codable {
  /// With Firestore's decoder, reads a vector of a document; with any other, such as `JSONDecoder`, an object:
  /// `{"array": [0.5, 1]}`. Throws `DecodingError` for anything else.
  public convenience init(from decoder: any Decoder) throws {
    if let vector = try DocumentDecoder.of(decoder)?.decodeVector() {
      self.init(vector)
      return
    }
    if let vector = StructureDecoder.of(decoder)?.object(VectorValue.self) {
      self.init(vector.array)
      return
    }
    let container = try decoder.container(keyedBy: VectorKeys.self)
    self.init(try container.decode([Double].self, forKey: .array))
  }

  /// With Firestore's encoder, writes a vector; with any other, the object that `init(from:)` reads.
  public func encode(to encoder: any Encoder) throws {
    if let sink = DocumentSink(encoder, for: self) { return try sink.encode(self) }
    var container = encoder.container(keyedBy: VectorKeys.self)
    try container.encode(array, forKey: .array)
  }
}

extension FieldValue: Encodable {
  /// Throws `FirestoreEncodingError` unless the encoder is Firestore's.
  public func encode(to encoder: any Encoder) throws {
    guard let sink = DocumentSink(encoder, for: self) else {
      throw FirestoreEncodingError.encodingIsNotSupported(
        "FieldValue values can only be encoded with Firestore.Encoder")
    }
    try sink.encode(self)
  }
}
