import Foundation

/// Order, limits, start and end of the results.
extension Query {
  /// Orders the results by `field`, ascending.
  ///
  /// Only documents that have the field are results. Documents with equal values are ordered by
  /// path, in the direction of the last order. Add all orders before a start or an end; otherwise
  /// the query fails with `invalidArgument`.
  public func order(by field: String) -> Query { order(by: field, descending: false) }

  /// Orders the results by a field, ascending; see `order(by:)`.
  public func order(by path: FieldPath) -> Query { order(by: path, descending: false) }

  /// Orders the results by `field`; see `order(by:)`.
  public func order(by field: String, descending: Bool) -> Query {
    ordered(.dotted(field), descending)
  }

  /// Orders the results by a field; see `order(by:)`.
  public func order(by path: FieldPath, descending: Bool) -> Query {
    ordered(.path(path), descending)
  }

  /// Orders the results by `field`, and keeps documents without it: they are ordered as if it was null,
  /// which is less than every other value.
  ///
  ///     let people = db.collection("people").order(by: "age", descending: true, keepingMissing: true)
  ///
  /// Indexes have no entries for documents without a field. If no condition requires the field, the query
  /// reads all documents that meet its conditions, and sorts them, whatever its limit is.
  public func order(by field: String, descending: Bool, keepingMissing: Bool) -> Query {
    ordered(.dotted(field), descending, keepingMissing)
  }

  /// Orders the results by a field, and keeps documents without it; see
  /// `order(by:descending:keepingMissing:)`.
  public func order(by path: FieldPath, descending: Bool, keepingMissing: Bool) -> Query {
    ordered(.path(path), descending, keepingMissing)
  }

  private func ordered(
    _ field: Result<FieldSegments, Status>, _ isDescending: Bool, _ keepsMissing: Bool = false
  ) -> Query {
    changed { query throws(Status) in
      let field = try field.get()
      guard query.start == nil else {
        throw .invalidArgument(
          "Invalid query. You must not specify a starting point before specifying the order by.")
      }
      guard query.end == nil else {
        throw .invalidArgument(
          "Invalid query. You must not specify an ending point before specifying the order by.")
      }
      query.orders.append(
        StructuredQuery.Order(
          field: field, isDescending: isDescending,
          keepsMissing: keepsMissing && !field.isDocumentID))
    }
  }

  // MARK: Limits

  /// Limits the results to the first `limit`.
  ///
  /// The query fails with `invalidArgument` unless `limit` is positive.
  public func limit(to limit: Int) -> Query { limited(limit, isToLast: false) }

  /// Limits the results to the last `limit`, in the order of the query.
  ///
  /// The query fails with `invalidArgument` unless `limit` is positive. Reading and listening also
  /// fail with `invalidArgument` if the query has no order; counting does not, see `aggregate`.
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

  /// Skips the first `count` results; with `limit(toLast:)`, the last `count`.
  ///
  /// The query still finds the skipped results: it walks their index entries, or reads them where no index
  /// has all that the conditions need. A start costs less. It fails with `invalidArgument`
  /// if `count` is negative.
  public func offset(_ count: Int) -> Query {
    changed { query throws(Status) in query.offset = count }
  }

  // MARK: Start and end

  /// Starts at the document, inclusive, in the order of the query.
  ///
  /// The query fails with `invalidArgument` if the document does not exist, lacks a field of an
  /// order, or is in a collection or database that the query does not read. The same holds for the
  /// other methods that take a document.
  public func start(atDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.start = try position(of: document, isBefore: true)
    }
  }

  /// Starts at the results with these values, inclusive: one value for each of the first orders.
  ///
  /// The query fails with `invalidArgument` for more values than orders. The same holds for the
  /// other methods that take values.
  public func start(at values: [Any]) -> Query {
    changed { query throws(Status) in query.start = try position(of: values, isBefore: true) }
  }

  /// Starts after the document; see `start(atDocument:)`.
  public func start(afterDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.start = try position(of: document, isBefore: false)
    }
  }

  /// Starts after the results with these values; see `start(at:)`.
  public func start(after values: [Any]) -> Query {
    changed { query throws(Status) in query.start = try position(of: values, isBefore: false) }
  }

  /// Ends before the document; see `start(atDocument:)`.
  public func end(beforeDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.end = try position(of: document, isBefore: true)
    }
  }

  /// Ends before the results with these values; see `start(at:)`.
  public func end(before values: [Any]) -> Query {
    changed { query throws(Status) in query.end = try position(of: values, isBefore: true) }
  }

  /// Ends at the document, inclusive; see `start(atDocument:)`.
  public func end(atDocument document: DocumentSnapshot) -> Query {
    changed { query throws(Status) in
      query.end = try position(of: document, isBefore: false)
    }
  }

  /// Ends at the results with these values, inclusive; see `start(at:)`.
  public func end(at values: [Any]) -> Query {
    changed { query throws(Status) in query.end = try position(of: values, isBefore: false) }
  }

  private func position(
    of snapshot: DocumentSnapshot, isBefore: Bool
  ) throws(Status) -> StructuredQuery.Bound {
    guard let document = snapshot.stored else {
      throw .invalidArgument(
        "Invalid query. You are trying to start or end a query using a document that doesn't exist."
      )
    }
    // The same file is enough: the snapshot may be older than a `terminate`.
    guard snapshot.reference.databaseIdentity == firestore.databaseIdentity else {
      throw .invalidArgument(
        "Provided document snapshot is from a different Cloud Firestore instance.")
    }
    guard structured.scope.contains(document.path) else {
      throw .invalidArgument(
        "\"\(document.path.text)\" is not part of the query result set and cannot be used as a "
          + "query boundary.")
    }
    return try structured.position(of: document, isBefore: isBefore)
  }

  private func position(of inputs: [Any], isBefore: Bool) throws(Status) -> StructuredQuery.Bound {
    guard inputs.count <= structured.orders.count else {
      throw .invalidArgument(
        "Invalid query. You are trying to start or end a query using more values than were "
          + "specified in the order by.")
    }
    var values: [Value] = []
    for (input, order) in zip(inputs, structured.orders) {
      let value = try UserDataReader.argument(input, database: firestore.databaseIdentity)
      values.append(
        order.field.isDocumentID
          ? .reference(try structured.scope.path(ofCursorValue: value)) : value)
    }
    return StructuredQuery.Bound(values: values, isBefore: isBefore)
  }
}

extension StructuredQuery {
  /// The position of a document among the results: its values for all orders, including implied
  /// ones.
  func position(of document: StoredDocument, isBefore: Bool) throws(Status) -> StructuredQuery.Bound
  {
    var values: [Value] = []
    for order in effectiveOrders {
      if order.field.isDocumentID {
        values.append(.reference(document.path))
        continue
      }
      let value = try document.body.withView { view throws(Status) in
        try view.value(at: order.field)?.value()
      }
      guard let value = value ?? (order.keepsMissing ? .null : nil) else {
        throw .invalidArgument(
          "Invalid query. You are trying to start or end a query using a document for which the "
            + "field '\(order.field.canonicalText)' (used as the order by) does not exist.")
      }
      values.append(value)
    }
    return StructuredQuery.Bound(values: values, isBefore: isBefore)
  }
}
