/// How the distance between two vectors is computed.
public enum DistanceMeasure: Sendable {
  /// The length of their difference.
  case euclidean
  /// 1 minus the cosine of the angle between them: 0...2. Zero vectors have no angle and are not
  /// found.
  case cosine
  /// The dot product: the larger, the nearer.
  case dotProduct
}
