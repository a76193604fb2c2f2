/// What a sentinel asks the writer to do with a field, besides storing a value.
package enum FieldTransform: Sendable {
  case serverTimestamp
  case increment(Value)
  case minimum(Value)
  case maximum(Value)
  case arrayUnion([Value])
  case arrayRemove([Value])
  case delete
}
