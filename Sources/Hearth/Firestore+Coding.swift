import Foundation

extension Firestore {
  /// Writes `Encodable` values as documents.
  ///
  ///     let fields = try Firestore.Encoder().encode(book)
  ///
  /// Dates become timestamps and `Data` becomes bytes, unless a strategy says otherwise.
  public class Encoder: FirebaseDataEncoder {
    public override init() {
      super.init()
      dateEncodingStrategy = .timestamp
      dataEncodingStrategy = .blob
    }

    /// The value's fields, as `setData(_:)` takes them: numbers are `NSNumber`, null is `NSNull`, and
    /// sentinels are `FieldValue`s.
    ///
    /// Throws `EncodingError` if the value cannot be a document, and `invalidArgument` if two of its names are one
    /// `String` of other bytes: `setData(from:)` takes such a value, a dictionary cannot hold it.
    public func encode<T: Encodable>(_ value: T) throws -> [String: Any] {
      let encoded = try encodedForWriting(value)
      do throws(Status) {
        if let fault = encoded.fault { throw fault }
        let owner = encoded.databases.first.flatMap {
          OpenDatabases.shared.instance(named: $0.name)
        }
        var fields = try encoded.body.withView { view throws(Status) in
          try Self.checkNames(view, depthLeft: DocumentFormat.maximumDepth)
          return try AnyBridge.dictionary(view) { DocumentReference(owner ?? .firestore(), $0) }
        }
        for (field, transform) in encoded.transforms {
          try Self.insert(FieldValue(transform), at: field.names[...], into: &fields)
        }
        return fields
      } catch {
        throw error.nsError
      }
    }

    private static func insert(
      _ sentinel: FieldValue, at path: ArraySlice<String>, into fields: inout [String: Any]
    ) throws(Status) {
      guard let name = path.first else { return }
      guard path.count > 1 else {
        // The encoder left its field out: what is there has an equivalent name.
        guard fields.updateValue(sentinel, forKey: name) == nil else { throw equivalentNames(name) }
        return
      }
      var inner = fields[name] as? [String: Any] ?? [:]
      try insert(sentinel, at: path.dropFirst(), into: &inner)
      fields[name] = inner
    }

    /// Throws `invalidArgument` if a dictionary cannot hold all fields of a map, or of one inside.
    private static func checkNames(_ map: MapView, depthLeft: Int) throws(Status) {
      if try map.hasEquivalentNames() { throw equivalentNames(try map.nameString(at: 0)) }
      for index in 0..<map.count { try checkNames(in: map.value(at: index), depthLeft: depthLeft) }
    }

    private static func checkNames(in value: ValueView, depthLeft: Int) throws(Status) {
      guard depthLeft > 0 else { throw .tooDeep }
      if let map = try value.map() { try checkNames(map, depthLeft: depthLeft - 1) }
      guard var elements = try value.array() else { return }
      for _ in 0..<elements.count { try checkNames(in: elements.next(), depthLeft: depthLeft - 1) }
    }

    private static func equivalentNames(_ name: String) -> Status {
      .invalidArgument(
        "Invalid data. Two names of a map are one String to Swift, and have other bytes (beside field "
          + "\(name)). A dictionary cannot hold both.")
    }
  }

  /// Reads `Decodable` values from documents.
  ///
  ///     let book = try Firestore.Decoder().decode(Book.self, from: ["title": "Dune"])
  public class Decoder: FirebaseDataDecoder {
    public override init() {
      super.init()
      dateDecodingStrategy = .timestamp
      dataDecodingStrategy = .blob
    }

    /// Throws `DecodingError` if the data does not fit, `invalidArgument` if a document could not hold it.
    public func decode<T: Decodable>(_ type: T.Type, from container: Any) throws -> T {
      try decode(type, from: container, in: nil)
    }

    /// As from the document that `reference` names: its id goes to `@DocumentID`.
    public func decode<T: Decodable>(
      _ type: T.Type, from container: Any, in reference: DocumentReference?
    ) throws -> T {
      do {
        var reader = UserDataReader(source: .arrayArgument, database: nil)
        let value = try reader.readArgument(container)
        let owner =
          reference?.firestore
          ?? reader.referencedDatabase.flatMap { OpenDatabases.shared.instance(named: $0.name) }
        let context = DocumentDecoder.Context(
          document: (reference?.resourcePath).map(StoredName.path), owner: owner)
        defer { withExtendedLifetime(owner) {} }
        let bytes = try DocumentBody(encoding: value).bytes
        return try bytes.withUnsafeBytes {
          try decodeDocument(type, from: value == .null ? nil : StoredBody($0), context: context)
        }
      } catch let status as Status {
        throw status.nsError
      }
    }
  }
}
