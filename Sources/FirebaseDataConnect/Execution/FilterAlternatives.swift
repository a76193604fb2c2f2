/// The number of alternatives in the disjunctive normal form of a filter, of which a query has at most
/// 30, and the number of comparisons in the longest one, of which it has at most 100 with its orders.
///
///     {_or: [{year: {lt: 1980}}, {genre: {eq: "a"}}]}      2
///     {_and: [{_or: […]}, {_or: […]}]}                     the product
///     {_not: {_and: […]}}                                  the sum
///
/// The rows that pass a part of a greater filter are found by a query of their own, which is one
/// comparison of the whole.
struct FilterAlternatives {
  /// Of alternatives, and for a filter that is split, of comparisons.
  static let limit = 30
  private static let longest = 60
  /// Beyond it, numbers are not exact.
  fileprivate static let many = 1 << 20

  /// Upper bounds.
  private struct Size {
    var count = 1
    var length = 1

    init(_ count: Int, _ length: Int) {
      self.count = min(count, FilterAlternatives.many)
      self.length = min(length, FilterAlternatives.many)
    }
  }

  private let matching: Size
  /// Of the filter's negation.
  private let negated: Size

  var fitIntoQuery: Bool { matching.count <= Self.limit && matching.length <= Self.longest }

  init(of filter: DataValue) { self.init(object: filter) }

  private init(_ matching: Size, _ negated: Size) {
    self.matching = matching
    self.negated = negated
  }

  private init(object: DataValue) {
    let members = object.fields?.members.map { name, value -> FilterAlternatives in
      let parts = value.elements ?? [value]
      switch name {
      case "_and": return Self(all: parts.map { Self(object: $0) })
      case "_or": return Self(all: parts.map { Self(object: $0).not }).not
      case "_not": return Self(object: value).not
      default:
        // A relation or a reference is one; a column has one for each of its comparisons, and not more
        // conditions than values.
        let comparisons = value.fields?.members.map { _, operand -> FilterAlternatives in
          let values = 1 + max(1, operand.elements?.count ?? 1)
          return Self(Size(1, values), Size(values, 1))
        }
        return Self(all: comparisons ?? [])
      }
    }
    self.init(all: members ?? [])
  }

  private init(all parts: [FilterAlternatives]) {
    self.init(
      parts.reduce(Size(1, 0)) {
        Size($0.count * $1.matching.count, $0.length + $1.matching.length)
      },
      parts.reduce(Size(0, 1)) {
        Size($0.count + $1.negated.count, max($0.length, $1.negated.length))
      })
  }

  private var not: FilterAlternatives { FilterAlternatives(negated, matching) }
}
