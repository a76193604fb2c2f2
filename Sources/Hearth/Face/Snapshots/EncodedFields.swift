/// The fields of a value as a document stores them: to find out what a program has changed since it read a document,
/// and to write only that, without decoding either.
///
///     let now = try EncodedFields(of: book, by: encoder)
///     let (changed, missing) = try now.differences(from: EncodedFields(of: snapshot))
///     batch.updateData(
///       try now.update(of: changed + missing, at: "updated"), forDocument: snapshot.reference,
///       precondition: .exists(true))
package struct EncodedFields {
  private let encoded: EncodedDocument

  /// Throws if the value cannot be encoded.
  package init<T: Encodable>(of value: T, by encoder: Firestore.Encoder) throws {
    encoded = try encoder.encodedForWriting(value)
  }

  /// Those of a snapshot; none if there is no snapshot or no document.
  package init(of snapshot: DocumentSnapshot?) {
    encoded = EncodedDocument(of: snapshot?.stored?.body ?? .empty)
  }

  /// The names of fields that `other` lacks or has with another value, and of fields that only `other` has. A field
  /// with a sentinel differs from any value; the time of the commit is the same as itself.
  ///
  /// - Parameter isSet: Whether the order of a field's elements makes no difference.
  package func differences(
    from other: EncodedFields, isSet: (String) -> Bool = { _ in false }
  ) throws -> (changed: [String], missing: [String]) {
    let (changed, missing) = try reporting {
      try encoded.body.differences(from: other.encoded.body, isSet: isSet)
    }
    let times = Set(other.encoded.transforms.compactMap(Self.commitTime))
    let sentinels = encoded.transforms.filter { Self.commitTime($0).map(times.contains) != true }
    let names = Set(sentinels.map { $0.field.names[0] })
    return (changed + names.subtracting(changed), missing.filter { !names.contains($0) })
  }

  /// The field, if the transform sets it to the time of the commit.
  private static func commitTime(
    _ sentinel: (field: FieldSegments, transform: FieldTransform)
  ) -> FieldSegments? {
    if case .serverTimestamp = sentinel.transform { sentinel.field } else { nil }
  }

  /// The write of the fields with these names, which removes a field that this lacks.
  ///
  /// - Parameters:
  ///   - timestamp: The field that the write sets to the time of the commit.
  ///   - read: Fields that the value was decoded from. Their maps may have keys that its type lacks: a map that is
  ///     written keeps them.
  ///   - known: `read`, decoded and encoded again.
  package func update(
    of names: [String], at timestamp: String, keepingUnknownKeysOf read: EncodedFields? = nil,
    known: EncodedFields? = nil
  ) throws -> EncodedUpdate {
    var update = encoded
    update.transforms = encoded.transforms.filter { field, transform in
      // A field that is not in the body is deleted.
      if case .delete = transform { return false }
      return names.contains(field.names[0])
    }
    update.body = try reporting {
      try encoded.body.selecting(
        names, addingKeysOf: read?.encoded.body ?? .empty,
        unknownIn: known?.encoded.body ?? .empty)
    }
    // A transform needs the stored value: its field must not be deleted before.
    let transformed = update.transforms.map(\.field)
    let mask = names.map { FieldSegments([$0]) }.filter { !transformed.contains($0) }
    update.transforms.append((FieldSegments([timestamp]), .serverTimestamp))
    return EncodedUpdate(encoded: update, mask: mask)
  }
}

/// A write of some of the fields of an encoded value.
package struct EncodedUpdate {
  let encoded: EncodedDocument
  let mask: [FieldSegments]
}
