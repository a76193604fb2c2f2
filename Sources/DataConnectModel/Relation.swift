/// A field through which a row reaches the rows that refer to it.
///
///     Review.movie: Movie!                        Movie.reviews_on_movie       Review, many
///     MovieDetail.movie: Movie! @unique           Movie.movieDetail_on_movie   MovieDetail, one
///     MovieActor @table(key: ["movie", "actor"])  Movie.actors_via_MovieActor  Actor, many
///     Follow @table(key: ["fan", "star"])         User.users_via_Follow_on_fan  the stars of a fan
///                                                 User.users_via_Follow_on_star the fans of a star
public struct Relation: Hashable, Sendable {
  /// The field in GraphQL: `reviews_on_movie`, `actors_via_MovieActor`.
  public var name: String
  /// How rows are reached: always `referring` or `via`.
  public var kind: Selection.Kind
  /// The GraphQL type of the rows that the field has: `Review`, `Actor`.
  public var target: String
  /// The GraphQL type that `where` and `orderBy` of the field are about: `Review`, `MovieActor`.
  public var argumentTable: String
  /// Whether the field is one row or null, instead of a list.
  public var isSingle: Bool

  /// Creates a relation; `Schema.relations()` derives those of a schema.
  public init(
    name: String, kind: Selection.Kind, target: String, argumentTable: String, isSingle: Bool
  ) {
    self.name = name
    self.kind = kind
    self.target = target
    self.argumentTable = argumentTable
    self.isSingle = isSingle
  }
}

extension Schema {
  /// The relations of each table, by its GraphQL type, in the order of the tables that refer to it.
  ///
  /// Both relations of a join table between rows of one table would have one name: theirs end with the
  /// reference by which the join table's rows refer to the row.
  public func relations() -> [String: [Relation]] {
    var result: [String: [Relation]] = [:]
    for table in tables {
      for reference in table.references {
        let isSingle = reference.isOneToOne
        result[reference.target, default: []].append(
          Relation(
            name: "\(isSingle ? table.singular : table.plural)_on_\(reference.name)",
            kind: .referring(
              table: table.typeName, reference: reference.name, isSingle: isSingle),
            target: table.typeName, argumentTable: table.typeName, isSingle: isSingle))
      }
    }
    let plurals = Dictionary(first: tables.map { ($0.typeName, $0.plural) })
    for table in tables {
      guard let (first, second) = table.joinReferences else { continue }
      let isWithinTable = first.target == second.target
      for (near, far) in [(first, second), (second, first)] {
        guard let plural = plurals[far.target] else { continue }
        result[near.target, default: []].append(
          Relation(
            name: "\(plural)_via_\(table.typeName)" + (isWithinTable ? "_on_\(near.name)" : ""),
            kind: .via(join: table.typeName, near: near.name, far: far.name),
            target: far.target, argumentTable: table.typeName, isSingle: false))
      }
    }
    return result
  }
}

extension Table {
  /// The two references whose columns are the key, if this is a join table.
  public var joinReferences: (Reference, Reference)? {
    let wanted = Set(key)
    for (position, first) in references.enumerated() {
      for second in references[(position + 1)...] {
        let columns = first.columns + second.columns
        if columns.count == wanted.count, Set(columns) == wanted { return (first, second) }
      }
    }
    return nil
  }
}
