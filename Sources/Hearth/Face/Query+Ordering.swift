import Foundation

/// The order of the results, and which part of it is wanted.
extension Query {
  /// Documents that have the field, in its order; ties in the order of names.
  public func order(by field: String) -> Query { order(by: field, descending: false) }
  public func order(by path: FieldPath) -> Query { order(by: path, descending: false) }

  public func order(by field: String, descending: Bool) -> Query {
    ordered(descending) { () throws(Status) in try FieldSegments(dotted: field) }
  }
  public func order(by path: FieldPath, descending: Bool) -> Query {
    ordered(descending) { () throws(Status) in try path.segments() }
  }

  private func ordered(
    _ isDescending: Bool, by field: () throws(Status) -> FieldSegments
  ) -> Query {
    changed { query throws(Status) in
      let field = try field()
      guard query.start == nil else {
        throw .invalidArgument(
          "Invalid query. You must not specify a starting point before specifying the order by.")
      }
      guard query.end == nil else {
        throw .invalidArgument(
          "Invalid query. You must not specify an ending point before specifying the order by.")
      }
      query.orders.append(StructuredQuery.Order(field: field, isDescending: isDescending))
    }
  }

  // MARK: How many

  /// The first `limit` results.
  public func limit(to limit: Int) -> Query { limited(limit, isToLast: false) }

  /// The last `limit` results, in the order of the query.
  ///
  /// Reading or listening fails with `invalidArgument` if the query has no order. Counting does not; see
  /// `aggregate`.
  public func limit(toLast limit: Int) -> Query { limited(limit, isToLast: true) }

  private func limited(_ limit: Int, isToLast: Bool) -> Query {
    changed { query throws(Status) in
      guard limit > 0 else {
        throw .invalidArgument(
          "Invalid Query. Query limit (\(limit)) is invalid. Limit must be positive.")
      }
      query.limit = limit
      query.isLimitToLast = isToLast
    }
  }

  /// Leaves the first `count` results out. They are found all the same: a start costs less.
  public func offset(_ count: Int) -> Query {
    changed { query throws(Status) in query.offset = count }
  }

  // MARK: From where to where

  /// From the document on, in the order of the query.
  ///
  /// The query fails with `invalidArgument` if the document does not exist, lacks a field of an order, or is of a
  /// collection or database that the query does not read. So it does for the other starts and ends at a document.
  public func start(atDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.start = try place(of: document, isBefore: true)
    }
  }

  /// From the results with these values on: one value for each of the first orders.
  public func start(at values: [Any]) -> Query {
    changed { query throws(Status) in query.start = try place(of: values, isBefore: true) }
  }

  public func start(afterDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.start = try place(of: document, isBefore: false)
    }
  }

  public func start(after values: [Any]) -> Query {
    changed { query throws(Status) in query.start = try place(of: values, isBefore: false) }
  }

  public func end(beforeDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.end = try place(of: document, isBefore: true)
    }
  }

  public func end(before values: [Any]) -> Query {
    changed { query throws(Status) in query.end = try place(of: values, isBefore: true) }
  }

  public func end(atDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.end = try place(of: document, isBefore: false)
    }
  }

  /// Up to the results with these values, them included.
  public func end(at values: [Any]) -> Query {
    changed { query throws(Status) in query.end = try place(of: values, isBefore: false) }
  }

  private func place(
    of snapshot: DocumentSnapshot, isBefore: Bool
  ) throws(Status) -> StructuredQuery.Bound {
    guard let document = snapshot.stored else {
      throw .invalidArgument(
        "Invalid query. You are trying to start or end a query using a document that doesn't exist."
      )
    }
    // Of the same file is enough: the snapshot may be from before a `terminate`.
    guard snapshot.reference.databaseIdentity == firestore.databaseIdentity else {
      throw .invalidArgument(
        "Provided document snapshot is from a different Cloud Firestore instance.")
    }
    guard structured.scope.contains(document.path) else {
      throw .invalidArgument(
        "\"\(document.path.text)\" is not part of the query result set and cannot be used as a "
          + "query boundary.")
    }
    return try structured.place(of: document, isBefore: isBefore)
  }

  private func place(of inputs: [Any], isBefore: Bool) throws(Status) -> StructuredQuery.Bound {
    guard inputs.count <= structured.orders.count else {
      throw .invalidArgument(
        "Invalid query. You are trying to start or end a query using more values than were "
          + "specified in the order by.")
    }
    var values: [Value] = []
    for (input, order) in zip(inputs, structured.orders) {
      let value = try AnyBridge.value(input, database: firestore.databaseIdentity)
      values.append(
        order.field.isDocumentID
          ? .reference(try structured.scope.path(ofCursorValue: value)) : value)
    }
    return StructuredQuery.Bound(values: values, isBefore: isBefore)
  }
}

extension StructuredQuery {
  /// Where a document stands among the results: its values for all orders, also the implied ones.
  func place(of document: StoredDocument, isBefore: Bool) throws(Status) -> StructuredQuery.Bound {
    var values: [Value] = []
    for order in effectiveOrders {
      if order.field.isDocumentID {
        values.append(.reference(document.path))
        continue
      }
      let value = try document.body.withView { view throws(Status) in
        try view.value(at: order.field)?.value()
      }
      guard let value else {
        throw .invalidArgument(
          "Invalid query. You are trying to start or end a query using a document for which the "
            + "field '\(order.field.canonicalText)' (used as the order by) does not exist.")
      }
      values.append(value)
    }
    return StructuredQuery.Bound(values: values, isBefore: isBefore)
  }
}
