extension StructuredQuery {
  /// A nearest-neighbor search: the documents with the vectors nearest to `vector`, among the
  /// results of the rest of the query.
  package struct Nearest: Hashable, Sendable {
    package var field: FieldSegments
    package var vector: [Double]
    var limit: Int
    var measure: DistanceMeasure
    /// The result field that receives the distance; nil for none.
    var distanceField: FieldSegments?
    /// The largest distance of a result; for a dot product, the smallest.
    var threshold: Double?

    package init(
      field: FieldSegments, vector: [Double], limit: Int, measure: DistanceMeasure,
      distanceField: FieldSegments? = nil, threshold: Double? = nil
    ) {
      self.field = field
      self.vector = vector
      self.limit = limit
      self.measure = measure
      self.distanceField = distanceField
      self.threshold = threshold
    }

    /// Vectors compare like stored values: all NaNs are equal.
    package static func == (lhs: Nearest, rhs: Nearest) -> Bool {
      lhs.field == rhs.field && Value.vector(lhs.vector) == .vector(rhs.vector)
        && lhs.limit == rhs.limit && lhs.measure == rhs.measure
        && lhs.distanceField == rhs.distanceField
        && lhs.threshold.map(Value.double) == rhs.threshold.map(Value.double)
    }

    package func hash(into hasher: inout Hasher) {
      hasher.combine(field)
      hasher.combine(Value.vector(vector))
      hasher.combine(limit)
      hasher.combine(measure)
      hasher.combine(distanceField)
      hasher.combine(threshold.map(Value.double))
    }
  }
}
