internal import HearthText

/// The functions that convert a value to a type, by their names.
enum CELConversion: String {
  case int, uint, double, string, bool, bytes, timestamp, duration
}

extension Evaluator {
  func convert(
    _ value: CELValue, _ name: String, at position: CELPosition
  ) throws(CELError) -> CELValue {
    let result: CELValue? =
      switch CELConversion(rawValue: name) {
      case .int: try int(value, at: position)
      case .uint: try uint(value, at: position)
      case .double: try double(value, at: position)
      case .string: try string(value, at: position)
      case .bool: try bool(value, at: position)
      case .bytes: bytes(value)
      case .timestamp: try timestamp(converting: value, at: position)
      case .duration: try duration(converting: value, at: position)
      case nil: nil
      }
    guard let result else { throw noOverload(name, [value], at: position) }
    return result
  }

  private func invalid(
    _ text: String, _ expected: String, at position: CELPosition
  ) -> CELError {
    let shown = text.utf8.count <= 64 ? CELValue.string(text).description : "The text"
    return CELError(.invalidValue, "\(shown) is not \(expected).", at: position)
  }

  /// The integer part of a double, if it is in the range.
  private func truncated<Value: FixedWidthInteger>(
    _ value: Double, _ type: String, at position: CELPosition
  ) throws(CELError) -> Value {
    guard let result = Value(exactly: value.rounded(.towardZero)) else {
      throw outOfRange(type, at: position)
    }
    return result
  }

  private func int(
    _ value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch value {
    case .int: return value
    case .uint(let number):
      guard let result = Int64(exactly: number) else { throw outOfRange("int", at: position) }
      return .int(result)
    case .double(let number): return .int(try truncated(number, "int", at: position))
    case .string(let text):
      guard let result = Int64(text) else {
        throw invalid(text, "an int of 64 bits", at: position)
      }
      return .int(result)
    case .timestamp: return .int(try timestamp(value, at: position).seconds)
    default: return nil
    }
  }

  private func uint(
    _ value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch value {
    case .uint: return value
    case .int(let number):
      guard let result = UInt64(exactly: number) else { throw outOfRange("uint", at: position) }
      return .uint(result)
    case .double(let number): return .uint(try truncated(number, "uint", at: position))
    case .string(let text):
      guard let result = UInt64(text) else {
        throw invalid(text, "a uint of 64 bits", at: position)
      }
      return .uint(result)
    default: return nil
    }
  }

  private func double(
    _ value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch value {
    case .double: return value
    case .int(let number): return .double(Double(number))
    case .uint(let number): return .double(Double(number))
    case .string(let text):
      // A number that is too large for a double is read as infinity.
      guard let result = Double(text), result.isFinite || !text.utf8.contains(where: \.isASCIIDigit)
      else { throw invalid(text, "a double", at: position) }
      return .double(result)
    default: return nil
    }
  }

  private func string(
    _ value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
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
        throw CELError(.invalidValue, "The bytes are not valid UTF-8.", at: position)
      }
      return .string(text)
    case .timestamp: return .string(CELTime.text(of: try timestamp(value, at: position)))
    case .duration: return .string(CELTime.text(ofDuration: try duration(value, at: position)))
    default: return nil
    }
  }

  private func bool(
    _ value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch value {
    case .bool: return value
    case .string(let text):
      switch text {
      case "1", "t", "T", "true", "TRUE", "True": return .bool(true)
      case "0", "f", "F", "false", "FALSE", "False": return .bool(false)
      default: throw invalid(text, "true or false", at: position)
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

  private func timestamp(
    converting value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch value {
    case .timestamp: return value
    case .int(let seconds):
      guard let result = CELTime.Timestamp(seconds: seconds, nanoseconds: 0) else {
        throw outOfRange("timestamp", at: position)
      }
      return result.value
    case .string(let text):
      guard let result = CELTime.timestamp(text) else {
        throw invalid(
          text, "a timestamp such as 2009-02-13T23:31:30Z in the years 1 to 9999", at: position)
      }
      return result.value
    default: return nil
    }
  }

  private func duration(
    converting value: CELValue, at position: CELPosition
  ) throws(CELError) -> CELValue? {
    switch value {
    case .duration: return value
    case .string(let text):
      switch CELTime.duration(text) {
      case .nanoseconds(let nanoseconds): return CELTime.value(ofDuration: nanoseconds)
      case .outOfRange: throw outOfRange("duration", at: position)
      case nil: throw invalid(text, "a duration such as 1h30m or 1.5s", at: position)
      }
    default: return nil
    }
  }
}
