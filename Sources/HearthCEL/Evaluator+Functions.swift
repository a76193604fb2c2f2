internal import HearthText

extension Evaluator {
  /// The result of `name(arguments)`.
  mutating func call(_ name: String, _ arguments: [CELValue]) throws(CELError) -> CELValue {
    for argument in arguments { try take(bytes: argument.byteCount) }
    switch (name, arguments.count) {
    case ("size", 1): return try size(arguments[0])
    case ("matches", 2):
      return try textFunction(name, arguments[0], arguments[1])
    case ("type", 1): return .type(arguments[0].typeName)
    case ("dyn", 1): return arguments[0]
    case ("uuidV4", 0): return .string(environment.makeUUID())
    case (_, 1) where CELConversion(rawValue: name) != nil:
      return try convert(arguments[0], name)
    default:
      guard Signature.functionNames.contains(name) else {
        throw Signature.undeclared(name, isMethod: false)
      }
      throw noOverload(name, arguments)
    }
  }

  /// The result of `receiver.name(arguments)`.
  mutating func call(
    _ name: String, on receiver: CELValue, _ arguments: [CELValue]
  ) throws(CELError) -> CELValue {
    try take(bytes: receiver.byteCount)
    for argument in arguments { try take(bytes: argument.byteCount) }
    switch (name, arguments.count) {
    case ("size", 0): return try size(receiver)
    case ("startsWith", 1), ("endsWith", 1), ("contains", 1), ("matches", 1):
      return try textFunction(name, receiver, arguments[0])
    case (_, 0...1) where CELTime.timestampParts[name] != nil:
      return try component(name, of: receiver, arguments.first)
    default:
      guard Signature.methodNames.contains(name) else {
        throw Signature.undeclared(name, isMethod: true)
      }
      throw noOverload(name, [receiver] + arguments)
    }
  }

  func noOverload(_ name: String, _ arguments: [CELValue]) -> CELError {
    let types = arguments.map(\.typeName).joined(separator: ", ")
    return mismatch("The function \"\(name)\" does not accept (\(types)).", arguments)
  }

  private mutating func size(_ value: CELValue) throws(CELError) -> CELValue {
    switch value {
    case .string(let text): return .int(Int64(text.unicodeScalars.count))
    case .bytes(let bytes): return .int(Int64(bytes.count))
    case .list(let elements): return .int(Int64(elements.count))
    case .map(let map):
      try take(map.count)
      return .int(Int64(map.values.count { !$0.isUnset }))
    default: throw noOverload("size", [value])
    }
  }

  // MARK: Texts

  private func textFunction(
    _ name: String, _ text: CELValue, _ argument: CELValue
  ) throws(CELError) -> CELValue {
    guard case .string(let text) = text, case .string(let part) = argument else {
      throw noOverload(name, [text, argument])
    }
    switch name {
    case "startsWith": return .bool(text.utf8.starts(with: part.utf8))
    case "endsWith": return .bool(text.utf8.reversed().starts(with: part.utf8.reversed()))
    case "contains": return .bool(text.containsBytes(of: part))
    default: return .bool(try matches(part, text))
    }
  }

  private func matches(_ pattern: String, _ text: String) throws(CELError) -> Bool {
    do {
      return try environment.matches(pattern, text)
    } catch let error as CELError {
      throw .here(error.kind, error.message, cause: error.cause)
    } catch {
      throw .here(
        .invalidValue, "The matcher of regular expressions failed: \(error)",
        cause: error)
    }
  }

  // MARK: Time

  private func component(
    _ name: String, of receiver: CELValue, _ zone: CELValue?
  ) throws(CELError) -> CELValue {
    switch (receiver, zone) {
    case (.timestamp, nil), (.timestamp, .string):
      let timestamp = try timestamp(receiver)
      var offset: Int64 = 0
      if case .string(let name) = zone {
        guard let known = CELTime.offset(ofZone: name) else {
          throw .here(
            .unsupported,
            "The time zone \(CELValue.string(name)) is neither UTC nor an offset "
              + "such as +02:00.")
        }
        offset = known
      }
      if let part = CELTime.timestampParts[name] {
        let seconds = timestamp.seconds + offset
        return .int(part(.init(seconds: seconds, nanoseconds: timestamp.nanoseconds)))
      }
    case (.duration, nil):
      let duration = try duration(receiver)
      if let part = CELTime.durationParts[name] { return .int(part(duration)) }
    default: break
    }
    throw noOverload(name, [receiver] + (zone.map { [$0] } ?? []))
  }
}

extension String {
  /// Whether a text is part of this one, in time linear in both.
  func containsBytes(of part: String) -> Bool {
    SequenceSearch(Array(part.utf8)).isFound(in: utf8)
  }
}
