#if Tools
  import Foundation
  import Hearth
  import HearthText

  /// The types of values in JSON, in the form of Firestore's REST interface, as in exports.
  ///
  ///     {"stringValue": "Dune"}   {"integerValue": "412"}   {"doubleValue": 1.5}   {"booleanValue": true}
  ///     {"nullValue": null}       {"timestampValue": "1965-08-01T00:00:00.000001Z"}
  ///     {"bytesValue": "aGVhcnRo"}                   {"referenceValue": "books/dune"}
  ///     {"geoPointValue": {"latitude": 59.91, "longitude": 10.75}}
  ///     {"arrayValue": {"values": [ … ]}}            {"mapValue": {"fields": { … }}}
  ///
  /// On input, null, true, "text", 1, 1.5, [ … ] and { … } may be written plainly. An object whose only
  /// member has the name of a type is a value of this type.
  typealias ValueType = DocumentJSON.ValueType

  extension ValueType {
    func callAsFunction(_ value: JSON) -> JSON { .object([JSON.Member(rawValue, value)]) }
  }

  extension JSON {
    /// The type and the content of a typed value.
    var typed: (type: ValueType, content: JSON)? {
      guard case .object(let members) = self, members.count == 1,
        let type = ValueType(rawValue: members[0].name)
      else { return nil }
      return (type, members[0].value)
    }

    /// The components of a vector, whose fields these are; nil for those of another map.
    var vector: [JSON]? {
      guard case .object(let members) = self, members.count == 2,
        case (.string, .string("__vector__"))? = self["__type__"]?.typed,
        case (.array, let content)? = self["value"]?.typed,
        case .array(let elements)? = content["values"]
      else { return nil }
      return elements
    }
  }

  // MARK: - Out of a database

  extension DocumentSnapshot {
    /// The fields, each a typed value; nil if the document does not exist.
    var jsonFields: JSON? {
      get throws { try jsonLine.flatMap { try JSONReader.read($0)["fields"] } }
    }
  }

  extension JSON {
    /// A number of an aggregation as a typed value.
    init(aggregate number: Any?) {
      guard let number = number as? NSNumber else {
        self = ValueType.null(.null)
        return
      }
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"):
        let double = number.doubleValue
        let word = double.isNaN ? "NaN" : double > 0 ? "Infinity" : "-Infinity"
        self = ValueType.double(double.isFinite ? .double(double) : .string(word))
      default: self = ValueType.integer(.string(String(number.int64Value)))
      }
    }
  }

  // MARK: - Into a database

  extension JSON {
    /// The fields of a document, plain or typed, as `setData` takes them.
    func fields(in database: Firestore) throws -> [String: Any] {
      guard case .object = self else {
        throw Failure("A document's fields are a JSON object: {\"title\": \"Dune\"}.")
      }
      return try database.dictionary { try DocumentJSON.plainFields(self) }
    }

    /// The fields of a document as `get --json` prints it, as `setData` takes them.
    func fields(ofDocumentIn database: Firestore) throws -> [String: Any] {
      do {
        return try database.dictionary { try DocumentJSON.fields(ofDocument: self) }
      } catch {
        throw Failure(
          "\(error) With --json the input is a document, as get --json prints it: {\"fields\": "
            + "{\"pages\": {\"integerValue\": \"412\"}}}.")
      }
    }

    /// One value, plain or typed, as conditions take it.
    func value(in database: Firestore) throws -> Any {
      try database.any { try DocumentJSON.plainValue(self) }
    }
  }

  extension Firestore {
    fileprivate func dictionary(_ read: () throws -> MapValue) throws -> [String: Any] {
      try any { .map(try read()) } as? [String: Any] ?? [:]
    }

    /// A value as users have it. Throws a `Failure` for JSON that is not one.
    fileprivate func any(_ read: () throws -> Value) throws -> Any {
      do {
        return AnyBridge.any(try read()) { document($0.text) }
      } catch let status as Status {
        throw Failure(status.message)
      }
    }
  }
#endif
