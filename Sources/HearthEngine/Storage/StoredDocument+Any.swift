/// Converts a stored document for users.
extension StoredDocument {
  /// - Parameter reference: Makes the public reference for a path.
  package func dictionary(_ reference: (ResourcePath) -> Any) throws(Status) -> [String: Any] {
    try body.withView { view throws(Status) in
      try AnyBridge.dictionary(view, reference: reference)
    }
  }

  /// One field; nil if the document lacks it.
  package func any(
    at path: FieldSegments, _ reference: (ResourcePath) -> Any
  ) throws(Status) -> Any? {
    try body.withView { view throws(Status) in
      guard let found = try view.value(at: path) else { return nil }
      return try AnyBridge.any(found, reference: reference)
    }
  }

  /// - Parameter owner: The database that references belong to, an object of the public API.
  package func decode<T: Decodable>(
    _ type: T.Type, by decoder: FirebaseDataDecoder, of owner: AnyObject
  ) throws -> T {
    try body.bytes.withUnsafeBytes {
      try decoder.decodeDocument(type, from: StoredBody($0), named: .path(path), of: owner)
    }
  }
}
