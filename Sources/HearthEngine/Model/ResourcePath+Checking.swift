import Glibc

/// Paths that come from users.
///
/// The checks that a client makes before it sends a request: the structure of a path. The error
/// messages are Firebase's.
extension ResourcePath {
  /// Parses `foo/bar/baz` below `base`. Ignores one slash at either end.
  package init(checkingCollection text: String, relativeTo base: ResourcePath = .root)
    throws(Status)
  {
    guard !text.isEmpty else { throw .invalidArgument("Collection path cannot be empty.") }
    let path = base.appending(try ResourcePath(splitting: text))
    guard path.isCollection else {
      throw .invalidArgument(
        "Invalid collection reference. Collection references must have an odd number of segments, "
          + "but \(path.text) has \(path.segments.count)")
    }
    self = path
  }

  /// Parses `foo/bar` below `base`. Ignores one slash at either end.
  package init(checkingDocument text: String, relativeTo base: ResourcePath = .root) throws(Status)
  {
    guard !text.isEmpty else { throw .invalidArgument("Document path cannot be empty.") }
    let path =
      text.withUTF8Bytes { $0.contains(slash) }
      ? base.appending(try ResourcePath(splitting: text)) : base.appending(text)
    guard !path.isRoot else { throw .invalidArgument("Document path cannot be empty.") }
    guard path.isDocument else {
      throw .invalidArgument(
        "Invalid document reference. Document references must have an even number of segments, "
          + "but \(path.text) has \(path.segments.count)")
    }
    self = path
  }

  package static func check(collectionGroupID id: String) throws(Status) {
    guard !id.isEmpty else { throw .invalidArgument("Collection ID cannot be empty.") }
    guard !id.utf8.contains(slash) else {
      throw .invalidArgument(
        "Invalid collection ID (\(id)). Collection IDs must not contain / in them.")
    }
  }

  private init(splitting text: String) throws(Status) {
    let hasEmptyName = text.withUTF8Bytes { text in
      text.indices.dropFirst().contains { text[$0] == slash && text[$0 - 1] == slash }
    }
    guard !hasEmptyName else {
      throw .invalidArgument("Invalid path (\(text)). Paths must not contain // in them.")
    }
    self.init(relative: text)
  }
}

private let slash = UInt8(ascii: "/")

/// The checks that the server makes when an operation runs: the names themselves.
extension ResourcePath {
  /// Throws `invalidArgument` for a path that no document or collection can have.
  ///
  /// Lengths matter only for writes: a document whose name is too long can be read and deleted, and
  /// does not exist.
  package func checkNames(forWriting: Bool = true) throws(Status) {
    var bytes = 0
    for (index, id) in segments.enumerated() {
      bytes += id.utf8.count
      if ResourcePath.isOrdinary(id) { continue }
      try ResourcePath.check(id: id, kind: index % 2 == 0 ? "Collection id" : "Resource id")
    }
    // No id and no name of that few bytes is too long.
    let isShort = bytes <= Limits.id && segments.count <= Limits.collectionDepth
    if forWriting, !isShort { try checkLengths() }
  }

  private func checkLengths() throws(Status) {
    for (index, id) in segments.enumerated() where id.utf8.count > Limits.id {
      let kind = index % 2 == 0 ? "Collection id" : "Resource id"
      throw .invalidArgument("\(kind) is longer than \(Limits.id) bytes.")
    }
    guard (segments.count + 1) / 2 <= Limits.collectionDepth else {
      throw .invalidArgument(
        "The path is deeper than \(Limits.collectionDepth) collections: \(text)")
    }
    guard Limits.size(ofName: self) <= Limits.documentName else {
      throw .invalidArgument("The name is longer than \(Limits.documentName) bytes: \(text)")
    }
  }

  /// Whether the id needs no further check. Most ids do not.
  private static func isOrdinary(_ id: String) -> Bool {
    id.withUTF8Bytes { id in
      guard let start = id.baseAddress, let first = id.first, first != UInt8(ascii: "."),
        first != UInt8(ascii: "_")
      else { return false }
      return memchr(start, Int32(slash), id.count) == nil
    }
  }

  private static func check(id: String, kind: String) throws(Status) {
    guard !id.isEmpty else { throw .invalidArgument("\(kind) cannot be empty.") }
    guard !id.utf8.contains(slash) else {
      throw .invalidArgument("\(kind) \"\(id)\" is invalid because it contains \"/\".")
    }
    let isDots = id == "." || id == ".."
    guard !isDots, !isReserved(id) || numericID(id) != nil else {
      throw .invalidArgument("\(kind) \"\(id)\" is invalid because it is reserved.")
    }
  }

  /// Whether the name has the form `__.+__`. Four underscores alone are allowed.
  static func isReserved(_ name: String) -> Bool {
    let utf8 = name.utf8
    return utf8.count >= 5 && utf8.starts(with: "__".utf8)
      && utf8.suffix(2).elementsEqual("__".utf8)
  }
}
