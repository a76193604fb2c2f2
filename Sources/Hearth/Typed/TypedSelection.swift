/// Some fields of each document that a query finds.
///
///     for (title, pages) in try await books.select(\.title, \.pages).getDocuments() {
///       print(title, pages)
///     }
///
/// A field that a document lacks is nil, if its type is optional. Otherwise reading throws
/// `DecodingError`.
public struct TypedSelection<Model: DocumentModel, Row>: Sendable {
  /// The same query without the model.
  public let untyped: Query
  private let fields: [SelectedField]
  private let row: @Sendable ([Any]) throws -> Row

  fileprivate init(
    _ query: Query, _ fields: [SelectedField], row: @escaping @Sendable ([Any]) throws -> Row
  ) {
    let paths = fields.map(\.names).filter { !$0.isEmpty }.map { FieldPath($0) }
    untyped = query.select(paths.isEmpty ? [.documentID()] : paths)
    self.fields = fields
    self.row = row
  }

  /// Reads the fields of all results.
  public func getDocuments() async throws -> [Row] {
    let decoder = Firestore.Decoder()
    decoder.userInfo[.selectedFields] = fields
    return try await untyped.getDocuments(as: SelectedValues.self, decoder: decoder)
      .map { try row($0.values) }
  }
}

extension TypedQueryable {
  /// Reads only these fields of each result; see ``TypedSelection``.
  public func select<each Value: Decodable & SendableMetatype>(
    _ fields: repeat KeyPath<Model.Fields, Field<each Value>>
  ) -> TypedSelection<Model, (repeat each Value)> {
    var selected: [SelectedField] = []
    for field in repeat each fields { selected.append(SelectedField(Model.fields[keyPath: field])) }
    return TypedSelection(untyped, selected) { values in
      var rest = values[...]
      return (repeat try next((each Value).self, of: &rest))
    }
  }
}

private func next<T>(_ type: T.Type, of values: inout ArraySlice<Any>) throws -> T {
  guard let value = values.popFirst() as? T else {
    throw Status(.internal, "A selected field was decoded as another type.").nsError
  }
  return value
}

/// A field that is selected, with its type.
private struct SelectedField: Sendable {
  let names: [String]
  let decode: @Sendable (any Decoder) throws -> Any

  init<Value: Decodable & SendableMetatype>(_ field: Field<Value>) {
    let names = field.names
    self.names = names
    decode = { try $0.decodeField(Value.self, at: names) }
  }
}

extension CodingUserInfoKey {
  // Made of a constant: it is never nil.
  fileprivate static let selectedFields = CodingUserInfoKey(rawValue: "hearth.selectedFields")!
}

// Not generic: the runtime of Swift 6.3 ends the process where it looks for a conformance of a type
// that is generic over a pack.
/// The values of a document's selected fields.
private struct SelectedValues: Decodable {
  let values: [Any]

  init(from decoder: any Decoder) throws {
    let fields = decoder.userInfo[.selectedFields] as? [SelectedField] ?? []
    values = try fields.map { try $0.decode(decoder) }
  }
}

extension Decoder {
  /// Decodes the field that the names lead to; the document's id if there are none.
  fileprivate func decodeField<T: Decodable>(_ type: T.Type, at names: [String]) throws -> T {
    guard let last = names.last else {
      if let id = try DocumentID<String>(from: self).wrappedValue as? T { return id }
      throw DecodingError.typeMismatch(
        type,
        DecodingError.Context(codingPath: codingPath, debugDescription: "An id is a string."))
    }
    var map = try container(keyedBy: DocumentFieldKey.self)
    for name in names.dropLast() {
      let key = DocumentFieldKey(stringValue: name)
      if let none = nilValue(type), try !map.contains(key) || map.decodeNil(forKey: key) {
        return none
      }
      map = try map.nestedContainer(keyedBy: DocumentFieldKey.self, forKey: key)
    }
    let key = DocumentFieldKey(stringValue: last)
    if let none = nilValue(type), !map.contains(key) { return none }
    return try map.decode(type, forKey: key)
  }
}

/// Nil as a value of the type; nil if the type is not optional.
private func nilValue<T>(_ type: T.Type) -> T? {
  (type as? any ExpressibleByNilLiteral.Type).flatMap { $0.init(nilLiteral: ()) as? T }
}
