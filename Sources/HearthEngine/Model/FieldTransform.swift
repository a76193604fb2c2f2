/// A change of a field that the writer computes: the meaning of a sentinel.
package enum FieldTransform: Sendable {
  case serverTimestamp
  case increment(Value)
  case minimum(Value)
  case maximum(Value)
  case arrayUnion([Value])
  case arrayRemove([Value])
  case delete
}
