extension FieldValue {
  /// Appends the elements that are not in the array yet, in the given order.
  /// What is not an array, or missing, counts as empty.
  public class func arrayUnion(_ elements: [Any]) -> FieldValue {
    read(elements, FieldTransform.arrayUnion)
  }

  /// Removes every occurrence of the elements. What is not an array, or missing, becomes empty.
  public class func arrayRemove(_ elements: [Any]) -> FieldValue {
    read(elements, FieldTransform.arrayRemove)
  }

  /// Read at once, since `Any` cannot be kept: a fault waits for the operation that uses the value.
  private static func read(
    _ elements: [Any], _ transform: ([Value]) -> FieldTransform
  ) -> FieldValue {
    var reader = UserDataReader(source: .element, database: nil)
    do {
      let values = try reader.readElements(elements)
      return FieldValue(transform(values), database: reader.referencedDatabase)
    } catch {
      return FieldValue(transform([]), fault: error)
    }
  }
}
