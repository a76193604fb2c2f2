/// A change of the results of a live query.
public enum LiveQueryEvent<T: ParseObject>: Sendable {
  /// An object that existed before is a result now.
  case entered(T)
  /// An object is no longer a result, and still exists.
  case left(T)
  /// A new object is a result.
  case created(T)
  /// A result, or an object that it includes, changed.
  case updated(T)
  /// A result was deleted.
  case deleted(T)
}
