import Foundation

/// A type of documents whose fields the compiler knows, for collections of that type.
///
///     let books = db.collection("books", of: Book.self)
///     let long = try await books.where { $0.pages > 400 }.order(by: \.title).getDocuments()
///
/// The conformance lists the fields that queries and updates name:
///
///     extension Book: DocumentModel {
///       struct Fields: Sendable {
///         var title: Field<String> { Field("title") }
///         var pages: Field<Int> { Field("pages") }
///       }
///       static let fields = Fields()
///     }
public protocol DocumentModel: Codable {
  /// The table of the fields: a property of type `Field` for each.
  associatedtype Fields

  /// The table.
  static var fields: Fields { get }
}

/// A field of a model, with the type of its values.
public struct Field<Value>: Sendable {
  /// The names that lead to it. Empty for the document's id.
  let names: [String]

  /// A field of the document, or of the map that encloses it.
  public init(_ name: String) { names = [name] }

  init(names: [String]) { self.names = names }

  /// The name of the field in untyped queries, with dots into maps. Empty for the document's id.
  public var name: String { names.joined(separator: ".") }

  /// The document's id, as in `FieldPath.documentID()`.
  public static var documentID: Field { Field(names: []) }
}

/// The fields of a model in the closure of a query.
@dynamicMemberLookup
public struct FieldTable<Model: DocumentModel> {
  /// The field that the model's table has for this property.
  public subscript<Value>(
    dynamicMember field: KeyPath<Model.Fields, Field<Value>>
  ) -> QueryField<Model, Value> {
    QueryField(names: Model.fields[keyPath: field].names)
  }
}

/// A field in the condition of a query: compare it with a value.
@dynamicMemberLookup
public struct QueryField<Model: DocumentModel, Value> {
  let names: [String]

  var path: FieldPath { Field<Value>(names: names).path }

  /// A field of the map that this field holds. An id in a map is that of the document.
  public subscript<Inner>(
    dynamicMember field: KeyPath<Value.Fields, Field<Inner>>
  ) -> QueryField<Model, Inner> where Value: DocumentModel {
    let inner = Value.fields[keyPath: field].names
    return QueryField<Model, Inner>(names: inner.isEmpty ? [] : names + inner)
  }
}

/// A map that may be missing has the fields of the map.
extension Optional: DocumentModel where Wrapped: DocumentModel {
  public typealias Fields = Wrapped.Fields
  public static var fields: Wrapped.Fields { Wrapped.fields }
}

extension Field {
  var path: FieldPath { names.isEmpty ? .documentID() : FieldPath(names) }
}

/// A value as untyped queries and updates take it. Throws what the encoder throws.
func plainValue<Value: Encodable>(of value: Value) throws -> Any {
  switch value {
  case is String, is Int, is Double, is Bool, is Date, is Data, is Timestamp, is GeoPoint,
    is VectorValue, is DocumentReference:
    return value
  default:
    let encoder = Firestore.Encoder()
    // As in documents: rounded to the nearest microsecond. A timestamp would be cut.
    encoder.dateEncodingStrategy = .custom { date, encoder in
      try (Instant(date).map { Timestamp($0) } ?? Timestamp(date: date)).encode(to: encoder)
    }
    return try encoder.encode(["value": value])["value"] ?? NSNull()
  }
}

/// The same, for each of several.
func plainValues<Value: Encodable>(of values: [Value]) throws -> [Any] {
  try values.map { try plainValue(of: $0) }
}
