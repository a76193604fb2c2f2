import Dispatch
import Foundation
import Hearth

/// A value that is computed from the objects of a group; see `Query.aggregate(by:_:as:)`.
public struct ParseAggregate: Sendable {
  fileprivate let field: AggregateField

  /// The number of objects.
  public static var count: ParseAggregate { ParseAggregate(field: .count()) }
  /// The sum of a number property; 0 if no object has it.
  public static func sum(_ key: String) -> ParseAggregate { ParseAggregate(field: .sum(key)) }
  /// The average of a number property. Missing in the row if no object of the group has it.
  public static func average(_ key: String) -> ParseAggregate {
    ParseAggregate(field: .average(key))
  }
  /// The least value of a property. Missing in the row if no object of the group has it.
  public static func minimum(_ key: String) -> ParseAggregate {
    ParseAggregate(field: .minimum(key))
  }
  /// The greatest value of a property. Missing in the row if no object of the group has it.
  public static func maximum(_ key: String) -> ParseAggregate {
    ParseAggregate(field: .maximum(key))
  }
  /// The number of different values of a property.
  public static func countDistinct(_ key: String) -> ParseAggregate {
    ParseAggregate(field: .countDistinct(key))
  }
}

extension Query {
  /// Groups all results by the values of keys, and computes aggregates of each group.
  ///
  ///     struct Row: Decodable {
  ///       var publishingYear: Int?
  ///       var books: Int
  ///     }
  ///     let rows = try Book.query().aggregate(
  ///       by: ["publishingYear"], ["books": .count], as: Row.self)
  ///
  /// Returns a row for each group, in the order of the groups' values. A row is decoded from the
  /// values of the keys and from the aggregates by their names; a value that no object has, and an
  /// aggregate of no values, is missing in it. Throws as `find()`, and `ParseError` with
  /// `.aggregateError` for a query with an order, a limit or results to skip, and with
  /// `.incorrectType` if `Row` cannot be decoded.
  ///
  /// - Parameters:
  ///   - keys: The keys whose values make a group. Empty: all results are one group.
  ///   - aggregates: The aggregates, by their names in a row.
  ///   - row: The type of a row.
  public func aggregate<Row: Decodable & Sendable>(
    by keys: [String], _ aggregates: [String: ParseAggregate], as row: Row.Type = Row.self
  ) throws(ParseError) -> [Row] {
    try reporting {
      let context = try ParseSwift.context
      let query = try groups(keys, aggregates.values.map(\.field), context)
      return try rows(context.firestore.blocking.getGroups(query), keys, aggregates)
    }
  }

  /// Same as the synchronous form. Suspends instead of blocking the thread.
  public func aggregate<Row: Decodable & Sendable>(
    by keys: [String], _ aggregates: [String: ParseAggregate], as row: Row.Type = Row.self
  ) async throws(ParseError) -> [Row] {
    try await reporting {
      let query = try groups(keys, aggregates.values.map(\.field), ParseSwift.context)
      return try rows(await query.getGroups(), keys, aggregates)
    }
  }

  /// Same as the synchronous form. Calls `completion` once, on `callbackQueue` or on any thread.
  @preconcurrency
  public func aggregate<Row: Decodable & Sendable>(
    by keys: [String], _ aggregates: [String: ParseAggregate], callbackQueue: DispatchQueue? = nil,
    completion: @escaping @Sendable (Result<[Row], ParseError>) -> Void
  ) {
    completing(on: callbackQueue, completion) { try await aggregate(by: keys, aggregates) }
  }

  /// Parse's aggregation by stages of MongoDB.
  @available(
    *, unavailable, message: "The stages of MongoDB are not executed: use aggregate(by:_:as:)."
  )
  public func aggregate(_ pipeline: [[String: any Encodable]]) throws(ParseError) -> [T] { [] }

  private func rows<Row: Decodable>(
    _ groups: [AggregateGroup], _ keys: [String], _ aggregates: [String: ParseAggregate]
  ) throws -> [Row] {
    try groups.map { group in
      var fields: [String: Any] = [:]
      for key in keys { fields[key] = group[key] }
      for (name, aggregate) in aggregates { fields[name] = group.get(aggregate.field) }
      return try ObjectReading.row(
        fields.filter { !($0.value is NSNull) }, as: Row.self, ofClass: T.className)
    }
  }
}
