import Foundation
import Hearth

// Texts for logs. Each has what the value has, on one line; an object in a property is its pointer.

extension ParseObject {
  /// The class, and the properties that have a value, as JSON: `Book
  /// {"objectId":"x","title":"Dune"}`. An object in a property is shown by its class and id.
  public var description: String {
    var fields = Description.fields(of: self)
    fields["objectId"] = objectId
    return "\(className) \(Description.text(of: fields))"
  }

  /// Same as `description`.
  public var debugDescription: String { description }
}

extension Pointer: CustomStringConvertible {
  /// The class and the id: `Book("x")`.
  public var description: String { "\(className)(\"\(objectId)\")" }
}

extension ParseGeoPoint: CustomStringConvertible {
  /// The degrees: `(48.3, 14.29)`.
  public var description: String { "(\(latitude), \(longitude))" }
}

extension ParsePolygon: CustomStringConvertible {
  /// The vertices in brackets.
  public var description: String {
    "[\(coordinates.map(\.description).joined(separator: ", "))]"
  }
}

extension ParseACL: CustomStringConvertible {
  /// The JSON of Parse: `{"*":{"read":true}}`.
  public var description: String { Description.text(of: json) }
}

extension ParseFile: CustomStringConvertible {
  /// The name, and the number of bytes if they are there: `cover.png (512 bytes)`.
  public var description: String { name + (data.map { " (\($0.count) bytes)" } ?? "") }
}

extension ParseBytes: CustomStringConvertible {
  /// The number of bytes.
  public var description: String { data.map { "\($0.count) bytes" } ?? "no bytes" }
}

enum Description {
  /// The properties of an object as they are encoded, without those of Parse. Empty for an object
  /// that cannot be encoded.
  static func fields(of object: some ParseObject) -> [String: Any] {
    let encoder = Firestore.Encoder()
    encoder.passthroughTypeResolver = PassthroughTypes.self
    var fields = (try? encoder.encode(OwnFields(value: object))) ?? [:]
    fields["originalData"] = nil
    return fields
  }

  static func text(of value: Any) -> String {
    switch value {
    case let map as [String: Any]:
      let members = map.sorted { $0.key < $1.key }.map { quoted($0.key) + ":" + text(of: $0.value) }
      return "{\(members.joined(separator: ","))}"
    case let list as [Any]: return "[\(list.map { text(of: $0) }.joined(separator: ","))]"
    case let text as String: return quoted(text)
    case let object as any ParseObject:
      return "\(object.className)(\(object.objectId.map(quoted) ?? "unsaved"))"
    case let bytes as Data: return "\"\(bytes.count) bytes\""
    case let time as Timestamp: return quoted(Self.text(of: time.dateValue()))
    case let date as Date: return quoted(Self.text(of: date))
    case is NSNull: return "null"
    default: return "\(value)"
    }
  }

  private static func text(of date: Date) -> String {
    date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  private static func quoted(_ text: String) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    let bytes = try? encoder.encode(text)
    return bytes.map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
  }
}
