import Hearth

/// A condition on the objects of a class, whose properties and values the compiler has checked.
///
///     @Document
///     struct Book: ParseObject {
///       var objectId: String?
///       var createdAt: Date?
///       var updatedAt: Date?
///       var ACL: ParseACL?
///       var originalData: Data?
///
///       var title: String?
///       var publishingYear: Int?
///     }
///
///     let books = try Book.query(\.title == "Dune", \.publishingYear > 1960).find()
///
/// For classes with a table of fields, which `@Document` writes, or a program by hand; see
/// `DocumentModel`. Each operator is that of the property's name, and the value has the type of the
/// property: an object or a ``Pointer`` equals the object with its id.
public struct ObjectCondition<Model: ParseObject & DocumentModel>: Sendable {
  /// The same condition for lists of conditions, such as `or(_:)`.
  public let constraint: QueryConstraint

  init(_ constraint: QueryConstraint) { self.constraint = constraint }

  /// Both conditions hold.
  public static func && (lhs: ObjectCondition, rhs: ObjectCondition) -> ObjectCondition {
    ObjectCondition(and(lhs.constraint, rhs.constraint))
  }

  /// At least one of the conditions holds.
  public static func || (lhs: ObjectCondition, rhs: ObjectCondition) -> ObjectCondition {
    ObjectCondition(or(lhs.constraint, rhs.constraint))
  }

  /// The condition does not hold; also for objects without its properties.
  public static prefix func ! (condition: ObjectCondition) -> ObjectCondition {
    ObjectCondition(nor(condition.constraint))
  }
}

extension ParseObject where Self: DocumentModel {
  /// A query for the objects of the class that meet all conditions.
  ///
  ///     let books = try Book.query(\.publishingYear > 1960 && !(\.title == "Dune")).find()
  public static func query(
    _ condition: ObjectCondition<Self>, _ others: ObjectCondition<Self>...
  ) -> Query<Self> {
    query(([condition] + others).map(\.constraint))
  }

  /// The key of a property, for conditions and orders with strings.
  ///
  ///     let books = Book.query().order([.ascending(Book.key(\.title))])
  public static func key<Value>(_ field: KeyPath<Fields, Field<Value>>) -> String {
    let name = fields[keyPath: field].name
    // Of a table by hand, which may call it the document's id.
    return name.isEmpty ? "objectId" : name
  }
}

/// Same as `==` with the property's key. Nil matches objects without the property.
public func == <Model: ParseObject & DocumentModel, Value: Encodable & Sendable>(
  field: KeyPath<Model.Fields, Field<Value?>>, value: Value?
) -> ObjectCondition<Model> {
  let key = Model.key(field)
  return ObjectCondition(value.map { key == $0 } ?? doesNotExist(key: key))
}

/// Same as `!=` with the property's key. Nil matches the objects that have the property.
public func != <Model: ParseObject & DocumentModel, Value: Encodable & Sendable>(
  field: KeyPath<Model.Fields, Field<Value?>>, value: Value?
) -> ObjectCondition<Model> {
  let key = Model.key(field)
  return ObjectCondition(value.map { key != $0 } ?? exists(key: key))
}

/// Same as `<` with the property's key.
public func < <Model: ParseObject & DocumentModel, Value: Encodable & Sendable>(
  field: KeyPath<Model.Fields, Field<Value?>>, value: Value
) -> ObjectCondition<Model> {
  ObjectCondition(Model.key(field) < value)
}

/// Same as `<=` with the property's key.
public func <= <Model: ParseObject & DocumentModel, Value: Encodable & Sendable>(
  field: KeyPath<Model.Fields, Field<Value?>>, value: Value
) -> ObjectCondition<Model> {
  ObjectCondition(Model.key(field) <= value)
}

/// Same as `>` with the property's key.
public func > <Model: ParseObject & DocumentModel, Value: Encodable & Sendable>(
  field: KeyPath<Model.Fields, Field<Value?>>, value: Value
) -> ObjectCondition<Model> {
  ObjectCondition(Model.key(field) > value)
}

/// Same as `>=` with the property's key.
public func >= <Model: ParseObject & DocumentModel, Value: Encodable & Sendable>(
  field: KeyPath<Model.Fields, Field<Value?>>, value: Value
) -> ObjectCondition<Model> {
  ObjectCondition(Model.key(field) >= value)
}

/// Same as `==` with the property's key and a query for its class.
public func == <Model: ParseObject & DocumentModel, Object: ParseObject>(
  field: KeyPath<Model.Fields, Field<Object?>>, query: Query<Object>
) -> ObjectCondition<Model> {
  ObjectCondition(Model.key(field) == query)
}
