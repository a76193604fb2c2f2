/// Why a value cannot be decoded as the requested type.
enum DecodingFailure {
  case wrongType
  case noMap, noArray
  case doesNotFit(String)
  case corrupted(String)

  /// - Parameter found: The kind of the value instead: `a number`.
  func error<T>(
    isNull: Bool, found: @autoclosure () -> String, type: T.Type, codingPath: [any CodingKey]
  ) -> DecodingError {
    func context(_ sentence: String) -> DecodingError.Context { .init(codingPath, sentence) }
    switch self {
    case .corrupted(let sentence): return .dataCorrupted(context(sentence))
    case .doesNotFit(let number):
      return .dataCorrupted(context("Parsed JSON number <\(number)> does not fit in \(type)."))
    case .wrongType:
      if isNull {
        return .valueNotFound(
          type, context("Expected \(type) value but found null instead."))
      }
    case .noMap:
      if isNull {
        return .valueNotFound(
          type, context("Cannot get keyed decoding container -- found null value instead."))
      }
      return mismatch([String: Any].self)
    case .noArray:
      if isNull {
        return .valueNotFound(
          type, context("Cannot get unkeyed decoding container -- found null value instead."))
      }
      return mismatch([Any].self)
    }
    return mismatch(type)

    func mismatch(_ expected: Any.Type) -> DecodingError {
      .typeMismatch(
        expected, context("Expected to decode \(expected) but found \(found()) instead."))
    }
  }

  /// A type kept its decoder or a container, and used it after decoding had ended.
  static var late: DecodingError {
    .dataCorrupted(.init([], "The decoder was used after decoding had ended."))
  }

  static func name(of view: ValueView) -> String {
    guard let kind = try? view.kind() else { return "an unknown value" }
    return switch kind {
    case .null: "a null value"
    case .boolean, .integer, .double: "a number"
    case .timestamp: "a timestamp"
    case .string: "a string/data"
    case .bytes: "bytes"
    case .reference: "a document reference"
    case .geoPoint: "a geo point"
    case .array: "an array"
    case .vector: "a vector"
    case .map: "a dictionary"
    }
  }

  static func path(
    to node: UInt32, in state: DecodingSession.StatePointer
  ) -> [any CodingKey] {
    var path: [any CodingKey] = []
    var node = Int(node)
    while node > 0, node <= state.pointee.keys.count {
      path.append(state.pointee.keys[node - 1])
      let parent = Int(state.pointee.parents[node - 1])
      // Parents come before their children; otherwise the decoder was kept too long.
      guard parent < node else { break }
      node = parent
    }
    return path.reversed()
  }

  static func missing(
    _ key: some CodingKey, _ options: FirebaseDataDecoder?, codingPath: [any CodingKey]
  ) -> DecodingError {
    .keyNotFound(
      key, .init(codingPath, "No value associated with key \(description(of: key, options))."))
  }

  static func atEnd<T>(_ type: T.Type, codingPath: [any CodingKey]) -> DecodingError {
    .valueNotFound(type, .init(codingPath, "Unkeyed container is at end."))
  }

  static let endless = DecodingFailure.corrupted(
    "Too many values decode one another in one place.")

  private static func description(
    of key: some CodingKey, _ options: FirebaseDataDecoder?
  ) -> String {
    let original = key.stringValue
    let plain = "\(key) (\"\(original)\")"
    guard case .convertFromSnakeCase = options?.keyDecodingStrategy else { return plain }
    let converted = SnakeCase.fromCamelCase(original)
    if converted == original { return plain }
    let back = SnakeCase.toCamelCase(converted)
    if back == original { return "\(plain), converted to \(converted)" }
    return "\(plain), with divergent representation \(back), converted to \(converted)"
  }
}

extension DecodingError.Context {
  init(_ codingPath: [any CodingKey], _ sentence: String) {
    self.init(codingPath: codingPath, debugDescription: sentence)
  }
}
