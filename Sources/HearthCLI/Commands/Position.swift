#if Tools
  import Hearth
  import HearthTerminal
  import HearthText

  /// A document's path (an even number of segments) or a collection's (an odd number).
  enum Position {
    /// Throws a `Failure` for a path of a collection.
    ///
    /// - Parameter instead: The remedy, as a sentence.
    static func mustBeDocument(_ path: String, instead: String) throws {
      guard isWhole(path), !segmentCount(of: path).isMultiple(of: 2) else { return }
      throw Failure("\(path.legible) is a collection. \(instead)")
    }

    /// Throws a `Failure` for a path of a document.
    ///
    /// - Parameter instead: The remedy, as a sentence.
    static func mustBeCollection(_ path: String, instead: String) throws {
      guard isWhole(path), segmentCount(of: path).isMultiple(of: 2) else { return }
      throw Failure("\(path.legible) is a document. \(instead)")
    }

    /// The database refuses other paths, and says why.
    private static func isWhole(_ path: String) -> Bool {
      !path.split(separator: "/").isEmpty && !path.contains("//")
    }

    private static func segmentCount(of path: String) -> Int { path.split(separator: "/").count }

    /// Nil unless the text is the path of a document and nothing else.
    static func document(_ text: String, in db: Firestore) -> DocumentReference? {
      guard !text.contains(where: \.isWhitespace), segmentCount(of: text).isMultiple(of: 2) else {
        return nil
      }
      return db.document(text)
    }
  }
#endif
