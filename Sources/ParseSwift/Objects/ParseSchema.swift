import Foundation
import Hearth

/// The columns of a class, and their types in Parse's terms.
///
///     print(try await ParseSwift.schema(of: Book.self))
///     // Book
///     //   authors    Relation<Author>
///     //   isbn       Pointer<ISBN>
public struct ParseSchema: Sendable, Hashable, CustomStringConvertible {
  /// The name of the class, and of its collection.
  public let className: String
  /// The type of each column, by its key: `String`, `Number`, `Boolean`, `Date`, `Bytes`,
  /// `GeoPoint`, `Polygon`, `File`, `ACL`, `Array`, `Object`, `Pointer<…>`, `Relation<…>`. Several
  /// types of one column are joined by `|`.
  public let columns: [String: String]

  /// The class, and a line for each column in the order of their keys.
  public var description: String {
    let width = columns.keys.map(\.count).max() ?? 0
    let lines = columns.sorted { $0.key < $1.key }.map { key, type in
      "  " + key + String(repeating: " ", count: width - key.count + 2) + type
    }
    return ([className] + lines).joined(separator: "\n")
  }
}

extension ParseSwift {
  /// The columns of a class: the properties of its type, and the fields of the first 1,000 objects
  /// in the order of their ids. Throws `ParseError` with `.invalidClassName` or `.notInitialized`,
  /// or for an error of the database.
  ///
  ///     print(try await ParseSwift.schema(of: Book.self))
  public static func schema<T: ParseObject>(
    of type: T.Type
  ) async throws(ParseError) -> ParseSchema {
    try await reporting {
      let firestore = try firestore
      let name = try ObjectGraph.collection(type)
      var columns = try await stored(name, firestore)
      for (key, type) in FieldNames.types(of: type) where key != "originalData" {
        columns[key] = ColumnType.name(of: type) ?? columns[key] ?? "Object"
      }
      columns["objectId"] = "String"
      return ParseSchema(className: name, columns: columns)
    }
  }

  /// The columns of every class that has objects, from their fields. Throws `ParseError`.
  ///
  /// - Parameter sample: The largest number of objects of a class that are read, in the order of
  ///   their ids. At least 1 is read.
  public static func schemas(
    sample: Int = 1000
  ) async throws(ParseError) -> [ParseSchema] {
    try await reporting {
      let firestore = try firestore
      var schemas: [ParseSchema] = []
      for collection in try await firestore.listCollections() {
        let name = collection.collectionID
        guard !name.hasPrefix("_") else { continue }
        var columns = try await stored(name, firestore, sample)
        columns["objectId"] = "String"
        schemas.append(ParseSchema(className: name, columns: columns))
      }
      return schemas
    }
  }

  private static func stored(
    _ name: String, _ firestore: Firestore, _ sample: Int = 1000
  ) async throws -> [String: String] {
    var types: [String: Set<String>] = [:]
    let documents = try await firestore.collection(name).limit(to: max(1, sample)).getDocuments()
    for document in documents.documents {
      for (key, value) in document.data() {
        guard let type = ColumnType.name(ofValue: value, key) else { continue }
        types[key, default: []].insert(type)
      }
    }
    for collection in try await firestore.listCollections() {
      let parts = collection.collectionID.split(separator: ":", maxSplits: 2).map(String.init)
      guard parts.count == 3, parts[0] == "_Join", parts[2] == name else { continue }
      let edge = try await collection.limit(to: 1).getDocuments().documents.first
      guard let related = edge?["related"] as? DocumentReference else { continue }
      types[parts[1], default: []].insert("Relation<\(related.parent.collectionID)>")
    }
    return types.mapValues { $0.sorted().joined(separator: "|") }
  }
}

private enum ColumnType {
  /// Nil for a type of the program's own, whose stored form is not known.
  static func name(of type: any Any.Type) -> String? {
    switch PropertyKind(type) {
    case .array: return "Array"
    case .object(let type): return "Pointer<\(type.className)>"
    case .pointer(let type): return "Pointer<\(type.className)>"
    case .map, .other: break
    }
    switch type {
    case is String.Type: return "String"
    case is Bool.Type: return "Boolean"
    case is Date.Type: return "Date"
    case is Data.Type, is ParseBytes.Type: return "Bytes"
    case is ParseGeoPoint.Type: return "GeoPoint"
    case is ParsePolygon.Type: return "Polygon"
    case is ParseFile.Type: return "File"
    case is ParseACL.Type: return "ACL"
    case is any BinaryInteger.Type, is any BinaryFloatingPoint.Type: return "Number"
    default: return nil
    }
  }

  /// Nil for null, which is of every type.
  static func name(ofValue value: Any, _ key: String) -> String? {
    switch value {
    case is NSNull: return nil
    case let reference as DocumentReference: return "Pointer<\(reference.parent.collectionID)>"
    case is Timestamp, is Date: return "Date"
    case is GeoPoint: return "GeoPoint"
    case is Data: return "Bytes"
    case is String: return "String"
    case is [Any]: return "Array"
    case let map as [String: Any]:
      if key == "ACL" { return "ACL" }
      return map["__type"] as? String == "File" ? "File" : "Object"
    // Documents have integers, doubles and booleans; only the last are of C's type `char`.
    case let number as NSNumber:
      return number.objCType.pointee == CChar(UInt8(ascii: "c")) ? "Boolean" : "Number"
    default: return "Object"
    }
  }
}
