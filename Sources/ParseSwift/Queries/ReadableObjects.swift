/// The results of a query that can be read, and the errors of those that cannot.
///
/// A document that was written through another interface, or by another version of the program, may
/// have a value of another type than its property. `find()` throws its error then;
/// `Query.findReadable()` returns the other objects.
public struct ReadableObjects<T: ParseObject>: Sendable {
  /// The results, in the order of the query. An included object that cannot be read has only its id.
  public internal(set) var objects: [T]
  /// The error of each object that cannot be read, of a result or of an included object. Its `className`
  /// and `objectId` name the object, and its `key` the property. In the order of the results; empty if
  /// all of them can be read.
  public internal(set) var failures: [ParseError]
}
