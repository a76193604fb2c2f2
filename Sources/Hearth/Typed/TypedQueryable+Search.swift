/// Searches for words, and documents beside the results.
extension TypedQueryable {
  /// Finds documents with words, the best first; see `Query.search`.
  ///
  ///     let texts = SearchFields("title", "summary", language: "en")
  ///     let found = try await books.search("sand worm*", in: texts).limit(to: 20).getDocuments()
  public func search(
    _ text: String, in fields: SearchFields, matchesAll: Bool = true
  ) -> TypedQuery<Model> {
    TypedQuery(untyped.search(text, in: fields, matchesAll: matchesAll))
  }

  /// A query whose results include other documents: those they refer to, and those that refer to
  /// them; see `Query.including`. Its results have no model: decode each one with `data(as:)`.
  ///
  ///     let found = try await books.limit(to: 20).including(.reference("author")).getDocuments()
  ///     for document in found.documents {
  ///       let book = try document.data(as: Book.self)
  ///       print(book.title, document.first("author")?["name"] ?? "-")
  ///     }
  public func including(_ inclusions: DocumentInclusion...) -> IncludingQuery {
    untyped.including(inclusions)
  }

  /// Same as `including(_:)`, with a list.
  public func including(_ inclusions: [DocumentInclusion]) -> IncludingQuery {
    untyped.including(inclusions)
  }
}
