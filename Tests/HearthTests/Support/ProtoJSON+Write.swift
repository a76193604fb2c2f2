import HearthText

@testable import Hearth
@testable import HearthEngine

extension ProtoJSON {
  /// A `google.firestore.v1.Write`. Throws `invalidArgument` for what no mutation can say.
  ///
  /// - Parameter updateTime: of the document as it is, or some recent time if it is missing.
  static func mutation(
    _ json: JSON, limit: KeyLimit = .standard, updateTime: (ResourcePath) throws -> Instant
  ) throws -> Mutation {
    do {
      return try read(json, limit, updateTime)
    } catch let error as ReadError {
      throw Status.invalidArgument(error.message)
    }
  }

  private static func read(
    _ json: JSON, _ limit: KeyLimit, _ updateTime: (ResourcePath) throws -> Instant
  ) throws -> Mutation {
    let text =
      json["delete"]?.string ?? json["update"]?["name"]?.string
      ?? json["transform"]?["document"]?.string ?? ""
    let path = try ResourcePath(checkingDocument: text)
    var mutation = Mutation(path: DocumentName(path, limit: limit).path, operation: .delete)
    let mask = try json["updateMask"].map { mask in
      try (mask["fieldPaths"]?.array ?? []).map {
        try FieldSegments(wireText: $0.string ?? "")
      }
    }
    if let update = json["update"] {
      let fields = try ProtoJSON.fields(update["fields"] ?? .object([]))
      mutation.operation =
        if let mask { .patch(fields, mask: mask) } else {
          .set(try DocumentBody(encoding: fields))
        }
    } else if json["transform"] != nil {
      mutation.operation = .patch(.empty, mask: [])
    } else if mask != nil {
      throw ReadError(message: "a delete has no mask")
    }
    mutation.transforms = try
      (json["updateTransforms"]?.array ?? json["transform"]?["fieldTransforms"]?.array ?? [])
      .map {
        (try FieldSegments(wireText: $0["fieldPath"]?.string ?? ""), try transform($0))
      }
    if let condition = json["currentDocument"] {
      if let exists = condition["exists"]?.boolean {
        mutation.precondition = .exists(exists)
      } else {
        let offsets: [String: Int64] = [
          "current": 0, "stale": -1_000_000, "future": 3_600_000_000,
        ]
        guard let offset = offsets[condition["updateTime"]?.string ?? ""] else {
          throw ReadError(message: "no such precondition: \(condition)")
        }
        let time = try updateTime(path)
        mutation.precondition = .updateTime(Instant(microseconds: time.microseconds + offset))
      }
    }
    return mutation
  }

  private static func transform(_ json: JSON) throws -> FieldTransform {
    if json["setToServerValue"]?.string == "REQUEST_TIME" { return .serverTimestamp }
    if let operand = json["increment"] { return .increment(try value(operand)) }
    if let operand = json["minimum"] { return .minimum(try value(operand)) }
    if let operand = json["maximum"] { return .maximum(try value(operand)) }
    if let operand = json["appendMissingElements"] { return .arrayUnion(try elements(operand)) }
    if let operand = json["removeAllFromArray"] { return .arrayRemove(try elements(operand)) }
    throw ReadError(message: "no such transform: \(json)")
  }

  private static func elements(_ json: JSON) throws -> [Value] {
    try (json["values"]?.array ?? []).map(value)
  }
}

extension JSON {
  /// With another string in place of one.
  func replacing(_ text: String, with other: String) -> JSON {
    switch self {
    case .string(text): .string(other)
    case .array(let elements): .array(elements.map { $0.replacing(text, with: other) })
    case .object(let members):
      .object(
        members.map { Member($0.name, $0.value.replacing(text, with: other)) })
    default: self
    }
  }
}
