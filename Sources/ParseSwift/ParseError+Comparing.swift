extension Error {
  /// The error, if it is a `ParseError` with the code; else nil.
  ///
  ///     do {
  ///       _ = try Book.query("title" == "Dune").first()
  ///     } catch {
  ///       if let missing = error.equalsTo(.objectNotFound) { print(missing.message) }
  ///     }
  public func equalsTo(_ code: ParseError.Code) -> ParseError? { containedIn([code]) }

  /// Whether the error is a `ParseError` with the code.
  public func equalsTo(_ code: ParseError.Code) -> Bool { containedIn([code]) != nil }

  /// The error, if it is a `ParseError` with one of the codes; else nil.
  public func containedIn(_ codes: [ParseError.Code]) -> ParseError? {
    (self as? ParseError).flatMap { codes.contains($0.code) ? $0 : nil }
  }

  /// Same as `containedIn(_:)` with a list.
  public func containedIn(_ codes: ParseError.Code...) -> ParseError? { containedIn(codes) }

  /// Whether the error is a `ParseError` with one of the codes.
  public func containedIn(_ codes: [ParseError.Code]) -> Bool { containedIn(codes) != nil }

  /// Same as `containedIn(_:)` with a list.
  public func containedIn(_ codes: ParseError.Code...) -> Bool { containedIn(codes) != nil }
}

extension ParseError: Codable {
  private enum Key: String, CodingKey {
    case code
    case message = "error"
  }

  /// Decodes the JSON of Parse: `{"code":101,"error":"Object not found."}`. A code that is not
  /// known becomes `.unknownError`. Throws `ParseError` with `.incorrectType` for other JSON.
  public init(from decoder: any Decoder) throws {
    let (code, message) = try reporting { () throws -> (Int, String) in
      let container = try decoder.container(keyedBy: Key.self)
      return (
        try container.decode(Int.self, forKey: .code),
        try container.decode(String.self, forKey: .message)
      )
    }
    self.init(Code(rawValue: code) ?? .unknownError, message)
  }

  /// Encodes the JSON of Parse, without the underlying error. Throws the error of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(code.rawValue, forKey: .code)
    try container.encode(message, forKey: .message)
  }
}
