/// Nearest neighbors.
extension TypedQueryable {
  /// Finds the results whose vectors are nearest to `vector`; see `Query.findNearest`.
  ///
  ///     let similar = try await books
  ///       .findNearest(\.embedding, queryVector: vector, limit: 10, distanceMeasure: .cosine)
  ///       .getDocuments()
  public func findNearest(
    _ field: KeyPath<Model.Fields, Field<VectorValue>>, queryVector vector: VectorValue,
    limit: Int, distanceMeasure measure: DistanceMeasure, distanceThreshold: Double? = nil
  ) -> TypedQuery<Model> {
    nearest(Model.fields[keyPath: field].path, vector, limit, measure, distanceThreshold)
  }

  /// Same, for a vector that may be missing.
  public func findNearest(
    _ field: KeyPath<Model.Fields, Field<VectorValue?>>, queryVector vector: VectorValue,
    limit: Int, distanceMeasure measure: DistanceMeasure, distanceThreshold: Double? = nil
  ) -> TypedQuery<Model> {
    nearest(Model.fields[keyPath: field].path, vector, limit, measure, distanceThreshold)
  }

  private func nearest(
    _ path: FieldPath, _ vector: VectorValue, _ limit: Int, _ measure: DistanceMeasure,
    _ threshold: Double?
  ) -> TypedQuery<Model> {
    TypedQuery(
      untyped.findNearest(
        vectorField: path, queryVector: vector, limit: limit, distanceMeasure: measure,
        distanceThreshold: threshold))
  }
}
