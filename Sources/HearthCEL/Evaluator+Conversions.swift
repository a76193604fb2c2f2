internal import HearthText

/// The functions that convert a value to a type, by their names.
enum CELConversion: String {
  case int, uint, double, string, bool, bytes, timestamp, duration
}

extension Evaluator {
  func convert(_ value: CELValue, _ name: String) throws(CELError) -> CELValue {
    let result: CELValue? =
      switch CELConversion(rawValue: name) {
      case .int: try int(value)
      case .uint: try integer(value, name, "a uint").map(CELValue.uint)
      case .double: try double(value)
      case .string: try string(value)
      case .bool: try bool(value)
      case .bytes: bytes(value)
      case .timestamp: try timestamp(converting: value)
      case .duration: try duration(converting: value)
      case nil: nil
      }
    guard let result else { throw noOverload(name, [value]) }
    return result
  }

  private func invalid(_ text: String, _ expected: String) -> CELError {
    let shown = text.utf8.count <= 64 ? CELValue.string(text).description : "The text"
    return .here(.invalidValue, "\(shown) is not \(expected).")
  }

  private func int(_ value: CELValue) throws(CELError) -> CELValue? {
    if case .timestamp = value { return .int(try timestamp(value).seconds) }
    return try integer(value, "int", "an int").map(CELValue.int)
  }

  private func integer<Value: FixedWidthInteger>(
    _ value: CELValue, _ type: String, _ described: String
  ) throws(CELError) -> Value? {
    let result: Value?
    switch value {
    case .int(let number): result = Value(exactly: number)
    case .uint(let number): result = Value(exactly: number)
    case .double(let number): result = Value(exactly: number.rounded(.towardZero))
    case .string(let text):
      guard let number = Value(text) else { throw invalid(text, "\(described) of 64 bits") }
      return number
    default: return nil
    }
    guard let result else { throw outOfRange(type) }
    return result
  }

  private func double(_ value: CELValue) throws(CELError) -> CELValue? {
    switch value {
    case .double: return value
    case .int(let number): return .double(Double(number))
    case .uint(let number): return .double(Double(number))
    case .string(let text):
      // A number that is too large for a double is read as infinity.
      guard let result = Double(text), result.isFinite || !text.utf8.contains(where: \.isASCIIDigit)
      else { throw invalid(text, "a double") }
      return .double(result)
    default: return nil
    }
  }

  private func string(_ value: CELValue) throws(CELError) -> CELValue? {
    switch value {
    case .string: return value
    case .bool(let value): return .string(value ? "true" : "false")
    case .int(let number): return .string(String(number))
    case .uint(let number): return .string(String(number))
    case .double(let number):
      // The sign of a NaN depends on the processor.
      if number.isNaN { return .string("NaN") }
      // The shortest digits that read back as the number, without ".0".
      let text = "\(number)"
      return .string(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
    case .bytes(let bytes):
      guard let text = String(validating: bytes, as: UTF8.self) else {
        throw .here(.invalidValue, "The bytes are not valid UTF-8.")
      }
      return .string(text)
    case .timestamp: return .string(CELTime.text(of: try timestamp(value)))
    case .duration: return .string(CELTime.text(ofDuration: try duration(value)))
    default: return nil
    }
  }

  private func bool(_ value: CELValue) throws(CELError) -> CELValue? {
    switch value {
    case .bool: return value
    case .string(let text):
      switch text {
      case "1", "t", "T", "true", "TRUE", "True": return .bool(true)
      case "0", "f", "F", "false", "FALSE", "False": return .bool(false)
      default: throw invalid(text, "true or false")
      }
    default: return nil
    }
  }

  private func bytes(_ value: CELValue) -> CELValue? {
    switch value {
    case .bytes: value
    case .string(let text): .bytes(Array(text.utf8))
    default: nil
    }
  }

  private func timestamp(converting value: CELValue) throws(CELError) -> CELValue? {
    switch value {
    case .timestamp: return value
    case .int(let seconds):
      guard let result = CELTime.Timestamp(seconds: seconds, nanoseconds: 0) else {
        throw outOfRange("timestamp")
      }
      return result.value
    case .string(let text):
      guard let result = CELTime.timestamp(text) else {
        throw invalid(text, "a timestamp such as 2009-02-13T23:31:30Z in the years 1 to 9999")
      }
      return result.value
    default: return nil
    }
  }

  private func duration(converting value: CELValue) throws(CELError) -> CELValue? {
    switch value {
    case .duration: return value
    case .string(let text):
      switch CELTime.duration(text) {
      case .nanoseconds(let nanoseconds): return CELTime.value(ofDuration: nanoseconds)
      case .outOfRange: throw outOfRange("duration")
      case nil: throw invalid(text, "a duration such as 1h30m or 1.5s")
      }
    default: return nil
    }
  }
}
