#if DEBUG
  @testable import HearthEngine
  import HearthPatterns

  /// The results of a query once more: written to be obvious, on decoded documents. Shares with the
  /// engine only the values that describe a query.
  struct ReferenceQuery {
    /// A document that caches the fields that were looked up in it.
    final class Document {
      let path: ResourcePath
      let fields: MapValue
      /// Why a regular expression was not searched to the end. The results are wrong then.
      fileprivate(set) var failure: Status?
      private var known: [[String]: (value: Value, terms: [ReferenceOrder.Term])?] = [:]

      init(_ document: (path: ResourcePath, fields: MapValue)) {
        path = document.path
        fields = document.fields
      }

      func find(_ field: FieldSegments) -> (value: Value, terms: [ReferenceOrder.Term])? {
        if let known = known[field.names] { return known }
        let found = value(field).map { ($0, ReferenceOrder.terms($0)) }
        known[field.names] = .some(found)
        return found
      }

      private func value(_ field: FieldSegments) -> Value? {
        if field.names == ["__name__"] { return .reference(path) }
        var value = Value.map(fields)
        for name in field.names {
          guard case .map(let map) = value,
            let next = map.fields.first(where: { $0.name.utf8.elementsEqual(name.utf8) })
          else { return nil }
          value = next.value
        }
        return value
      }
    }

    private let query: StructuredQuery
    private let orders: [StructuredQuery.Order]

    init(query: StructuredQuery) {
      self.query = query
      orders = ReferenceQuery.orders(of: query)
    }

    // MARK: Documents

    func run(_ documents: [Document]) -> [(path: ResourcePath, fields: MapValue)] {
      results(among: documents).map { ($0.path, projected($0.fields)) }
    }

    /// Whole documents.
    func results(among documents: [Document]) -> [Document] {
      let found = documents.filter(isResult).sorted(by: isBefore)
      if query.isLimitToLast {
        guard let limit = query.limit else { return found }
        return Array(found.dropLast(query.offset).suffix(limit))
      }
      return Array(found.dropFirst(query.offset).prefix(query.limit ?? .max))
    }

    private func isResult(_ document: Document) -> Bool {
      isInScope(document.path) && query.filters.allSatisfy { holds($0, document) }
        && orders.allSatisfy { position($0, document) != nil } && isWithinCursors(document)
    }

    private func isInScope(_ path: ResourcePath) -> Bool {
      let ids = path.segments
      switch query.scope {
      case .collection(let collection): return Array(ids.dropLast()) == collection.segments
      case .group(let id, let below):
        return ids.count > below.segments.count && ids.starts(with: below.segments)
          && ids[ids.count - 2] == id
      case .subtree(let below):
        return ids.count > below.segments.count && ids.starts(with: below.segments)
      }
    }

    // MARK: Filters

    func holds(_ filter: StructuredQuery.Filter, _ document: Document) -> Bool {
      switch filter {
      case .all(let members): return members.allSatisfy { holds($0, document) }
      case .any(let members): return members.contains { holds($0, document) }
      case .comparison(let comparison):
        guard let found = document.find(comparison.field) else { return comparison.isNegated }
        do throws(Status) {
          return try holds(comparison, found.value) != comparison.isNegated
        } catch {
          document.failure = document.failure ?? error
          return false
        }
      }
    }

    private func holds(
      _ comparison: StructuredQuery.Comparison, _ value: Value
    ) throws(Status) -> Bool {
      let operand = comparison.constant
      let isOrdinary = !operand.isReferenceNull && !operand.isReferenceNaN
      switch comparison.operator {
      case .isNull: return value.isReferenceNull
      case .isNaN: return value.isReferenceNaN
      case .isNotNull: return !value.isReferenceNull
      case .isNotNaN: return !value.isReferenceNull && !value.isReferenceNaN
      case .equal: return isOrdinary && order(value, operand) == 0
      case .notEqual:
        return !operand.isReferenceNull && !value.isReferenceNull && order(value, operand) != 0
      case .lessThan: return isOrdinary && areOneKind(value, operand) && order(value, operand) < 0
      case .lessThanOrEqual:
        return isOrdinary && areOneKind(value, operand) && order(value, operand) <= 0
      case .greaterThan:
        return isOrdinary && areOneKind(value, operand) && order(value, operand) > 0
      case .greaterThanOrEqual:
        return isOrdinary && areOneKind(value, operand) && order(value, operand) >= 0
      case .in, .inSet:
        guard case .array(let list) = operand else { return false }
        return list.contains { wanted in
          !wanted.isReferenceNull && !wanted.isReferenceNaN && order(value, wanted) == 0
        }
      case .notIn:
        guard case .array(let list) = operand else { return false }
        return !value.isReferenceNull && !list.contains { $0.isReferenceNull }
          && list.allSatisfy { order(value, $0) != 0 }
      case .arrayContains: return contains(value, operand)
      case .arrayContainsAny:
        guard case .array(let list) = operand else { return false }
        return list.contains { contains(value, $0) }
      case .arrayContainsAll:
        guard case .array(let list) = operand else { return false }
        return list.allSatisfy { contains(value, $0) }
      case .arrayContainedIn:
        guard case .array(let list) = operand, case .array(let elements) = value else {
          return false
        }
        return elements.allSatisfy { contains(.array(list), $0) }
      case .throughArrays:
        guard let reached = comparison.reached else { return false }
        func values(_ value: Value, _ names: [String]) -> [Value] {
          guard let name = names.first else { return [value] }
          switch value {
          case .map(let map):
            return map.fields.filter { $0.name.utf8.elementsEqual(name.utf8) }
              .flatMap { values($0.value, Array(names.dropFirst())) }
          case .array(let elements): return elements.flatMap { values($0, names) }
          default: return []
          }
        }
        for value in values(value, reached.field.names) where try holds(reached, value) {
          return true
        }
        return false
      // Resolved before.
      case .inResults, .arrayContainsAnyInResults, .afterNow, .beforeNow: return false
      case .matchesPattern:
        guard case .string(let text) = value,
          case .pattern(let pattern, let options) = comparison.operand,
          let expression = try? RegularExpression(pattern, options: options)
        else { return false }
        return try Array(text.utf8).withUnsafeBytes { bytes in
          Result { () throws(RegularExpression.Failure) in try expression.isFound(in: bytes) }
        }.mapError { Status($0) }.get()
      case .withinRegion:
        guard case .geoPoint(let point) = value, let region = comparison.region else {
          return false
        }
        return region.contains(latitude: point.latitude, longitude: point.longitude)
      case .hasPrefix, .hasSuffix, .containsText, .equalsIgnoringCase:
        guard case .string(let text) = value, case .string(let wanted) = operand else {
          return false
        }
        let (bytes, part) = (Array(text.utf8), Array(wanted.utf8))
        switch comparison.operator {
        case .hasPrefix: return bytes.starts(with: part)
        case .hasSuffix: return bytes.reversed().starts(with: part.reversed())
        case .containsText:
          return (0...bytes.count).contains { bytes[$0...].starts(with: part) }
        default:
          return text.lowercased().unicodeScalars.elementsEqual(wanted.lowercased().unicodeScalars)
        }
      }
    }

    private func contains(_ array: Value, _ wanted: Value) -> Bool {
      guard case .array(let elements) = array else { return false }
      if case .array = wanted { return false }
      if wanted.isReferenceNull || wanted.isReferenceNaN { return false }
      return elements.contains { order($0, wanted) == 0 }
    }

    private func areOneKind(_ one: Value, _ other: Value) -> Bool {
      one.referenceKind == other.referenceKind
    }

    // MARK: Order

    private static func orders(of query: StructuredQuery) -> [StructuredQuery.Order] {
      var orders = query.orders
      let isDescending = orders.last?.isDescending ?? false
      var inequalities: [FieldSegments] = []
      func look(_ filter: StructuredQuery.Filter) {
        switch filter {
        case .all(let members), .any(let members): members.forEach(look)
        case .comparison(let comparison):
          switch comparison.operator {
          case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual, .notIn,
            .isNotNull, .isNotNaN:
            if comparison.isInequality { inequalities.append(comparison.field) }
          default: break
          }
        }
      }
      query.filters.forEach(look)
      let byPath = inequalities.sorted { one, other in
        one.names.lexicographicallyPrecedes(other.names) {
          $0.unicodeScalars.lexicographicallyPrecedes($1.unicodeScalars)
        }
      }
      for field in byPath where field.names != ["__name__"] {
        if orders.contains(where: { $0.field.names == field.names }) { continue }
        orders.append(.init(field: field, isDescending: isDescending))
      }
      if !orders.contains(where: { $0.field.names == ["__name__"] }) {
        orders.append(.init(field: FieldSegments(["__name__"]), isDescending: isDescending))
      }
      return orders
    }

    /// The value by which a document is ordered. Nil if it is not a result.
    private func position(_ order: StructuredQuery.Order, _ document: Document) -> [ReferenceOrder
      .Term]?
    {
      document.find(order.field)?.terms ?? (order.keepsMissing ? ReferenceOrder.terms(.null) : nil)
    }

    /// Whether one document comes before another in the order of the query.
    func isBefore(_ one: Document, _ other: Document) -> Bool {
      for order in orders {
        guard let left = position(order, one), let right = position(order, other) else { continue }
        let result = ReferenceOrder.compare(left, right)
        if result != 0 { return order.isDescending ? result > 0 : result < 0 }
      }
      return false
    }

    private func isWithinCursors(_ document: Document) -> Bool {
      func position(_ bound: StructuredQuery.Bound) -> Int {
        for (order, wanted) in zip(orders, bound.values) {
          guard let found = self.position(order, document) else { continue }
          let result = ReferenceOrder.compare(found, ReferenceOrder.terms(wanted))
          if result != 0 { return order.isDescending ? -result : result }
        }
        return 0
      }
      if let start = query.start {
        let position = position(start)
        if position < 0 || (position == 0 && !start.isBefore) { return false }
      }
      if let end = query.end {
        let position = position(end)
        if position > 0 || (position == 0 && end.isBefore) { return false }
      }
      return true
    }

    private func order(_ one: Value, _ other: Value) -> Int {
      ReferenceOrder.compare(ReferenceOrder.terms(one), ReferenceOrder.terms(other))
    }

    // MARK: Projection

    func projected(_ fields: MapValue) -> MapValue {
      if query.projection.isEmpty { return fields }
      func keep(_ map: MapValue, _ paths: [[String]]) -> MapValue {
        MapValue(
          map.fields.compactMap { field -> (String, Value)? in
            let below = paths.filter { $0.first == field.name }.map { Array($0.dropFirst()) }
            if below.isEmpty { return nil }
            if below.contains([]) { return (field.name, field.value) }
            guard case .map(let inner) = field.value else { return nil }
            let kept = keep(inner, below)
            return kept.isEmpty ? nil : (field.name, .map(kept))
          })
      }
      return keep(fields, query.projection.map(\.names))
    }

    // MARK: Aggregations

    func aggregate(_ aggregations: [Aggregation], _ documents: [Document]) -> [Value] {
      let fields = aggregations.compactMap(\.field)
      let found = results(
        among: documents.filter { document in fields.allSatisfy { document.find($0) != nil } })
      return aggregations.map { aggregation in
        let values =
          aggregation.field.map { field in
            found.compactMap { $0.find(field)?.value }
          } ?? []
        let present = values.filter { !$0.isReferenceNull }
        func sorted() -> [Value] { present.sorted { order($0, $1) < 0 } }
        switch aggregation.kind {
        case .count(let limit): return .integer(Int64(min(found.count, Int(limit ?? .max))))
        case .sum: return sum(values)
        case .average: return average(values)
        case .values: return .integer(Int64(present.count))
        case .distinctSum: return sum(different(values))
        case .distinctAverage: return average(different(values))
        case .minimum: return (sorted().first ?? .null).referenceForm
        case .maximum: return (sorted().last ?? .null).referenceForm
        case .distinct:
          let sorted = sorted()
          let others = zip(sorted, sorted.dropFirst()).count { order($0, $1) != 0 }
          return .integer(Int64(sorted.isEmpty ? 0 : 1 + others))
        }
      }
    }

    private func average(_ values: [Value]) -> Value {
      let numbers = values.filter(\.isReferenceNumber)
      guard !numbers.isEmpty, case .double(let total) = sum(numbers, staysInteger: false) else {
        return .null
      }
      return .double(total / Double(numbers.count))
    }

    /// Each of equal numbers once, as an integer if it is one.
    private func different(_ values: [Value]) -> [Value] {
      values.filter(\.isReferenceNumber).reduce(into: []) { kept, value in
        if !kept.contains(where: { order($0, value) == 0 }) { kept.append(value.referenceForm) }
      }
    }

    // MARK: Groups

    /// By looking for each group's documents again and again.
    static func groups(_ grouped: GroupedQuery, _ documents: [Document]) -> [QueryGroup] {
      let found = ReferenceQuery(query: grouped.query).results(among: documents)
      func keys(_ document: Document) -> [Value] {
        grouped.keys.map { document.find($0)?.value.referenceForm ?? .null }
      }
      func compare(_ one: [Value], _ other: [Value]) -> Int {
        for (left, right) in zip(one, other) {
          let order = ReferenceOrder.compare(
            ReferenceOrder.terms(left), ReferenceOrder.terms(right))
          if order != 0 { return order }
        }
        return 0
      }
      var members: [(keys: [Value], documents: [Document])] = []
      for document in found {
        let own = keys(document)
        if let index = members.firstIndex(where: { compare($0.keys, own) == 0 }) {
          members[index].documents.append(document)
        } else {
          members.append((own, [document]))
        }
      }
      members.sort { compare($0.keys, $1.keys) < 0 }
      // Each group becomes a document of its values, in a collection of groups.
      var query = StructuredQuery(.collection(ResourcePath(["groups"])))
      query.filters = grouped.having
      query.orders = grouped.orders + [StructuredQuery.Order(field: .documentID)]
      query.limit = grouped.limit
      query.offset = grouped.offset
      var groups: [ResourcePath: QueryGroup] = [:]
      var rows: [Document] = []
      for (number, member) in members.enumerated() {
        let values = grouped.aggregations.map { aggregation in
          // Documents without the field count, but not for the value.
          let plain = ReferenceQuery(query: StructuredQuery(grouped.query.scope))
          let counted: [Document] =
            aggregation.field.map { field in
              member.documents.filter { $0.find(field) != nil }
            } ?? member.documents
          return plain.aggregate([aggregation], counted)[0]
        }
        let text = String(number)
        let path = ResourcePath([
          "groups", String(repeating: "0", count: 8 - text.count) + text,
        ])
        let group = QueryGroup(keys: member.keys, values: values)
        groups[path] = group
        rows.append(Document((path, grouped.fields(of: group))))
      }
      return ReferenceQuery(query: query).results(among: rows).compactMap { groups[$0.path] }
    }

    /// Exact, and rounded once.
    private func sum(_ values: [Value], staysInteger: Bool = true) -> Value {
      var whole: Int128 = 0
      var doubles: [Double] = []
      for value in values {
        switch value {
        case .integer(let number): whole += Int128(number)
        case .double(let number): doubles.append(number)
        default: break
        }
      }
      if doubles.isEmpty, staysInteger, let fits = Int64(exactly: whole) { return .integer(fits) }
      while whole != 0 {
        // The bits that a double has room for; then those that are left.
        let part = Double(whole)
        doubles.append(part)
        whole -= Int128(part)
      }
      return .double(Self.exactSum(doubles))
    }

    /// By Shewchuk's algorithm: `parts` have the exact sum and do not overlap, the smallest first.
    private static func exactSum(_ numbers: [Double]) -> Double {
      let sorted = numbers.sorted { abs($0) < abs($1) }
      var parts: [Double] = []
      for number in sorted {
        var high = number
        var next: [Double] = []
        for part in parts {
          let (large, small) = abs(high) < abs(part) ? (part, high) : (high, part)
          high = large + small
          let rest = small - (high - large)
          if rest != 0 { next.append(rest) }
        }
        guard high.isFinite else { return sorted.reduce(0, +) }
        parts = high == 0 ? next : next + [high]
      }
      guard var total = parts.popLast() else { return 0 }
      while let part = parts.popLast() {
        let before = total
        total += part
        let rest = part - (total - before)
        if rest == 0 { continue }
        // Half of the last bit: the parts after it decide.
        if let following = parts.last, (following < 0) == (rest < 0) {
          let rounded = total + rest * 2
          if rounded - total == rest * 2 { total = rounded }
        }
        break
      }
      return total
    }
  }

  extension Value {
    /// Of equal values the one that represents them: whole numbers are integers, zero has no sign.
    fileprivate var referenceForm: Value {
      switch self {
      case .double(let number):
        Int64(exactly: number).map(Value.integer) ?? (number == 0 ? .integer(0) : self)
      case .geoPoint(let point):
        .geoPoint(Coordinate(latitude: point.latitude + 0, longitude: point.longitude + 0))
      case .vector(let components): .vector(components.map { $0 + 0 })
      case .array(let elements): .array(elements.map(\.referenceForm))
      case .map(let map): .map(MapValue(map.fields.map { ($0.name, $0.value.referenceForm) }))
      default: self
      }
    }

    fileprivate var isReferenceNull: Bool { if case .null = self { true } else { false } }
    fileprivate var isReferenceNaN: Bool {
      if case .double(let number) = self { number.isNaN } else { false }
    }
    fileprivate var isReferenceNumber: Bool {
      switch self {
      case .integer, .double: true
      default: false
      }
    }

    /// The class of values that a range does not cross.
    fileprivate var referenceKind: String {
      switch self {
      case .null: "null"
      case .boolean: "boolean"
      case .integer: "number"
      case .double(let number): number.isNaN ? "NaN" : "number"
      case .timestamp: "timestamp"
      case .string: "string"
      case .bytes: "bytes"
      case .reference: "reference"
      case .geoPoint: "geo point"
      case .array: "array"
      case .vector: "vector"
      case .map: "map"
      }
    }
  }

  extension [ReferenceQuery.Document] {
    /// Throws if a document could not be tested.
    func checkTests() throws(Status) {
      for document in self { if let failure = document.failure { throw failure } }
    }
  }
#endif
