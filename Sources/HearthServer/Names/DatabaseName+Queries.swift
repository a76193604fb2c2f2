#if Server
  import FirestoreProtocol
  import HearthEngine

  extension DatabaseName {
    /// The query below a document or the root, which is not checked yet.
    func query(
      _ proto: ProtoStructuredQuery, below parent: ResourcePath
    ) throws(Status) -> StructuredQuery {
      guard proto.from.count == 1 else {
        throw .invalidArgument("A query requires exactly one collection selector.")
      }
      let selector = proto.from[0]
      var query = StructuredQuery(
        selector.collectionID.isEmpty
          ? .subtree(below: parent)
          : selector.allDescendants
            ? .group(selector.collectionID, below: parent)
            : .collection(parent.appending(selector.collectionID)))
      guard !selector.collectionID.isEmpty || selector.allDescendants else {
        throw .invalidArgument("A query without a collection id requires all descendants.")
      }
      if proto.hasWhere { query.add(try filter(proto.where)) }
      for order in proto.orderBy {
        let isDescending =
          switch order.direction {
          case .descending: true
          case .ascending, .unspecified: false
          case .UNRECOGNIZED: throw Self.unknown("direction")
          }
        query.orders.append(.init(field: try field(order.field), isDescending: isDescending))
      }
      if proto.hasStartAt { query.start = try bound(proto.startAt) }
      if proto.hasEndAt { query.end = try bound(proto.endAt) }
      if proto.hasLimit { query.limit = Int(proto.limit.value) }
      query.offset = Int(proto.offset)
      if proto.hasSelect {
        query.projection = try proto.select.fields.map { proto throws(Status) in
          try field(proto)
        }
      }
      if proto.hasFindNearest { query.question = .nearest(try nearest(proto.findNearest)) }
      return query
    }

    private static func unknown(_ thing: String) -> Status {
      .invalidArgument("The query has an unknown \(thing).")
    }

    func field(_ reference: ProtoStructuredQuery.FieldReference) throws(Status) -> FieldSegments {
      try FieldSegments(wireText: reference.fieldPath)
    }

    private func bound(_ cursor: ProtoCursor) throws(Status) -> StructuredQuery.Bound {
      StructuredQuery.Bound(values: try values(cursor.values), isBefore: cursor.before)
    }

    private func filter(
      _ proto: ProtoStructuredQuery.Filter
    ) throws(Status) -> StructuredQuery.Filter {
      switch proto.filterType {
      case .compositeFilter(let composite):
        let members = try composite.filters.map { proto throws(Status) in try filter(proto) }
        switch composite.op {
        case .and: return .all(members)
        case .or: return .any(members)
        case .unspecified, .UNRECOGNIZED: throw Self.unknown("composite operator")
        }
      case .fieldFilter(let comparison):
        return .comparison(
          .init(
            field: try field(comparison.field), operator: try Self.operator(comparison.op),
            operand: try value(comparison.value)))
      case .unaryFilter(let unary):
        return .comparison(
          .init(field: try field(unary.field), operator: try Self.operator(unary.op)))
      case nil: throw Self.unknown("filter")
      }
    }

    private static func `operator`(
      _ proto: ProtoStructuredQuery.FieldFilter.Operator
    ) throws(Status) -> StructuredQuery.Comparison.Operator {
      switch proto {
      case .lessThan: .lessThan
      case .lessThanOrEqual: .lessThanOrEqual
      case .greaterThan: .greaterThan
      case .greaterThanOrEqual: .greaterThanOrEqual
      case .equal: .equal
      case .notEqual: .notEqual
      case .arrayContains: .arrayContains
      case .in: .in
      case .arrayContainsAny: .arrayContainsAny
      case .notIn: .notIn
      case .unspecified, .UNRECOGNIZED: throw unknown("operator")
      }
    }

    private static func `operator`(
      _ proto: ProtoStructuredQuery.UnaryFilter.Operator
    ) throws(Status) -> StructuredQuery.Comparison.Operator {
      switch proto {
      case .isNan: .isNaN
      case .isNull: .isNull
      case .isNotNan: .isNotNaN
      case .isNotNull: .isNotNull
      case .unspecified, .UNRECOGNIZED: throw unknown("unary operator")
      }
    }

    private func nearest(
      _ proto: ProtoStructuredQuery.FindNearest
    ) throws(Status) -> StructuredQuery.Nearest {
      guard case .vector(let vector) = try value(proto.queryVector) else {
        throw .invalidArgument("FindNearest.query_vector must be a vector.")
      }
      let measure: DistanceMeasure =
        switch proto.distanceMeasure {
        case .euclidean: .euclidean
        case .cosine: .cosine
        case .dotProduct: .dotProduct
        case .unspecified, .UNRECOGNIZED: throw .invalidArgument("Unknown Distance Measure.")
        }
      return StructuredQuery.Nearest(
        field: try field(proto.vectorField), vector: vector, limit: Int(proto.limit.value),
        measure: measure,
        distanceField: proto.distanceResultField.isEmpty
          ? nil : try FieldSegments(wireText: proto.distanceResultField),
        threshold: proto.hasDistanceThreshold ? proto.distanceThreshold.value : nil)
    }

    func aggregation(
      _ proto: ProtoStructuredAggregationQuery.Aggregation
    ) throws(Status) -> Aggregation {
      let kind: Aggregation.Kind =
        switch proto.operator {
        case .count(let count): .count(upTo: count.hasUpTo ? count.upTo.value : nil)
        case .sum(let sum): .sum(try field(sum.field))
        case .avg(let average): .average(try field(average.field))
        case nil: throw Self.unknown("aggregation")
        }
      return Aggregation(kind, alias: proto.alias.isEmpty ? nil : proto.alias)
    }

    /// The fields of a mask; nil for all. A mask without fields selects only names.
    func projection(_ mask: ProtoDocumentMask?) throws(Status) -> Projection? {
      guard let mask else { return nil }
      let fields = try mask.fieldPaths.map { text throws(Status) in
        try FieldSegments(wireText: text)
      }
      return Projection(fields.isEmpty ? [.documentID] : fields)
    }
  }
#endif
