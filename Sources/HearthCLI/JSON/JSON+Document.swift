#if Tools
  import Foundation
  import Hearth

  /// Between documents and JSON, exactly, in both directions.
  ///
  ///     null, true, "text", 1, 1.5, [ … ], { … }        themselves
  ///     {"$timestamp": "1965-08-01T00:00:00.000001Z"}   a timestamp, to the microsecond
  ///     {"$bytes": "aGVhcnRo"}                          bytes, in base64
  ///     {"$ref": "books/dune"}                          a reference to a document of the database
  ///     {"$geo": [59.91, 10.75]}                        a geo point: latitude, longitude
  ///     {"$vector": [0.25, 0.5]}                        a vector
  ///     {"$double": "1.0"}                              a double without a fraction, NaN, inf, -inf
  ///     {"$map": { … }}                                 a map that would look like one of these
  ///
  /// The fields of a document itself are never taken for a tagged form. Reading, a plain 1.0 is a double
  /// too.
  enum Tag: String {
    case timestamp = "$timestamp"
    case bytes = "$bytes"
    case reference = "$ref"
    case geoPoint = "$geo"
    case vector = "$vector"
    case double = "$double"
    case map = "$map"

    func callAsFunction(_ value: JSON) -> JSON { .object([JSON.Member(rawValue, value)]) }
  }

  // MARK: - Out of a document

  extension JSON {
    /// A document's fields, in the order of their names.
    init(fields: [String: Any]) {
      let names = fields.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      self = .object(names.map { Member($0, JSON(value: fields[$0] ?? NSNull())) })
    }

    /// One value as `DocumentSnapshot.data()` gives it.
    init(value: Any) {
      switch value {
      case is NSNull: self = .null
      case let text as String: self = .string(text)
      case let number as NSNumber: self.init(number)
      case let fields as [String: Any]:
        let map = JSON(fields: fields)
        self = fields.count == 1 && fields.keys.contains { $0.hasPrefix("$") } ? Tag.map(map) : map
      case let elements as [Any]: self = .array(elements.map(JSON.init(value:)))
      case let timestamp as Timestamp: self = Tag.timestamp(.string(timestamp.iso8601))
      case let data as Data: self = Tag.bytes(.string(data.base64EncodedString()))
      case let reference as DocumentReference: self = Tag.reference(.string(reference.path))
      case let point as GeoPoint:
        self = Tag.geoPoint(.array([.exact(point.latitude), .exact(point.longitude)]))
      case let vector as VectorValue: self = Tag.vector(.array(vector.array.map(JSON.exact)))
      default: preconditionFailure("A document gave a \(type(of: value)).")
      }
    }

    /// `NSNumber` remembers what it was made of.
    private init(_ number: NSNumber) {
      switch UInt8(bitPattern: number.objCType.pointee) {
      case UInt8(ascii: "c"), UInt8(ascii: "B"): self = .boolean(number.boolValue)
      case UInt8(ascii: "d"), UInt8(ascii: "f"):
        let double = number.doubleValue
        let hasFraction = double.isFinite && double != double.rounded(.towardZero)
        self = hasFraction ? .double(double) : Tag.double(.string(JSON.word(double)))
      default: self = .integer(number.int64Value)
      }
    }

    /// A number where it can only be a double.
    private static func exact(_ number: Double) -> JSON {
      number.isFinite ? .double(number) : .string(word(number))
    }

    private static func word(_ number: Double) -> String {
      number.isNaN ? "NaN" : String(number)
    }
  }

  // MARK: - Into a document

  extension JSON {
    /// The fields of a document, as `setData` takes them.
    func fields(in database: Firestore) throws -> [String: Any] {
      guard case .object(let members) = self else {
        throw Failure("A document's fields are a JSON object: {\"title\": \"Dune\"}.")
      }
      var fields: [String: Any] = [:]
      for member in members { fields[member.name] = try member.value.value(in: database) }
      return fields
    }

    /// One value, as documents and conditions take it.
    func value(in database: Firestore) throws -> Any {
      switch self {
      case .null: return NSNull()
      case .boolean(let flag): return flag
      case .integer(let number): return number
      case .double(let number): return number
      case .string(let text): return text
      case .array(let elements): return try elements.map { try $0.value(in: database) }
      case .object(let members):
        guard members.count == 1, members[0].name.hasPrefix("$") else {
          return try fields(in: database)
        }
        guard let tag = Tag(rawValue: members[0].name) else {
          throw Failure(
            "\(members[0].name) is not a known type; write {\"$map\": …} around a map with this name."
          )
        }
        return try members[0].value.tagged(tag, in: database)
      }
    }

    private func tagged(_ tag: Tag, in database: Firestore) throws -> Any {
      switch (tag, self) {
      case (.timestamp, .string(let text)):
        guard let timestamp = Timestamp(iso8601: text) else { break }
        return timestamp
      case (.bytes, .string(let text)):
        guard let data = Data(base64Encoded: text) else { break }
        return data
      case (.reference, .string(let path)): return database.document(path)
      case (.geoPoint, .array(let numbers)):
        let numbers = numbers.compactMap(\.number)
        guard numbers.count == 2 else { break }
        return GeoPoint(latitude: numbers[0], longitude: numbers[1])
      case (.vector, .array(let elements)):
        let numbers = elements.compactMap(\.number)
        guard numbers.count == elements.count else { break }
        return VectorValue(numbers)
      case (.double, _):
        guard let number else { break }
        return number
      case (.map, .object): return try fields(in: database)
      default: break
      }
      throw Failure("\(tag.rawValue) cannot be \(text); it looks like \(tag.example).")
    }

    private var number: Double? {
      switch self {
      case .integer(let number): Double(number)
      case .double(let number): number
      case .string(let text): Double(text)
      default: nil
      }
    }
  }

  extension Tag {
    fileprivate var example: String {
      switch self {
      case .timestamp: #"{"$timestamp": "1965-08-01T00:00:00Z"}"#
      case .bytes: #"{"$bytes": "aGVhcnRo"}"#
      case .reference: #"{"$ref": "books/dune"}"#
      case .geoPoint: #"{"$geo": [59.91, 10.75]}"#
      case .vector: #"{"$vector": [0.25, 0.5]}"#
      case .double: #"{"$double": "NaN"}"#
      case .map: #"{"$map": {"$price": 12}}"#
      }
    }
  }
#endif
