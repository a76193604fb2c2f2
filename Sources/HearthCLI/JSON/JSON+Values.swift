#if Tools
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  /// Values in JSON, in the form of Firestore's REST interface, as in exports.
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

  // MARK: - Out of a database

  extension Value {
    /// A number of an aggregation.
    init(aggregate number: Any?) {
      guard let number = number as? NSNumber else {
        self = .null
        return
      }
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .double(number.doubleValue)
      default: self = .integer(number.int64Value)
      }
    }

    /// The number of an aggregation as a typed value.
    var json: JSON {
      let (type, content): (ValueType, JSON) =
        switch self {
        case .integer: (.integer, .string(brief))
        case .double(let number): (.double, number.isFinite ? .double(number) : .string(brief))
        default: (.null, .null)
        }
      return .object([JSON.Member(type.rawValue, content)])
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
