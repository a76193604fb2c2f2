extension FieldValue {
  /// Appends the elements that are not in the array yet, in the given order.
  ///
  ///     try await dune.updateData(["tags": FieldValue.arrayUnion(["classic"])])
  ///
  /// A field that is missing, or is not an array, counts as empty. If an element cannot be stored,
  /// the write fails with `invalidArgument`.
  public class func arrayUnion(_ elements: [Any]) -> FieldValue {
    read(elements, FieldTransform.arrayUnion)
  }

  /// Removes every occurrence of the elements from the array.
  ///
  /// A field that is missing, or is not an array, becomes an empty array. If an element cannot be
  /// stored, the write fails with `invalidArgument`.
  public class func arrayRemove(_ elements: [Any]) -> FieldValue {
    read(elements, FieldTransform.arrayRemove)
  }

  /// Reads the elements now, because `Any` cannot be kept. An error is reported by the write that
  /// uses the value.
  private static func read(
    _ elements: [Any], _ transform: ([Value]) -> FieldTransform
  ) -> FieldValue {
    var reader = UserDataReader(source: .element, database: nil)
    do {
      let values = try reader.readArray(elements)
      return FieldValue(transform(values), database: reader.referencedDatabase)
    } catch {
      return FieldValue(transform([]), validationError: error)
    }
  }
}
