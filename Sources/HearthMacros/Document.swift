#if Macros
  @_exported import Hearth

  /// Lets a type be read and written without `Codable`, which is several times as fast, and lets the
  /// compiler check queries of it.
  ///
  ///     @Document
  ///     struct Book: Codable {
  ///       @DocumentID var id: String?
  ///       var title: String
  ///       var pages = 0
  ///       var genre: Genre?
  ///       @ServerTimestamp var updated: Date?
  ///     }
  ///
  ///     @Document
  ///     enum Genre: String, Codable { case novel, essay }
  ///
  ///     let long = try await db.collection("books", of: Book.self)
  ///       .where { $0.pages > 400 && $0.genre == .novel }.getDocuments()
  ///
  /// For structures and enumerations. The documents are the same that `Codable` writes, and either
  /// way reads what the other has written: names come from `CodingKeys`, optionals that are nil are
  /// left out, and Firestore's property wrappers work as always. Types without the macro, for example
  /// those of other modules, are coded through `Codable`, each field on its own. A type with other
  /// property wrappers is coded through `Codable` as a whole.
  ///
  /// A property with a default value has it also where a document lacks the field, for both ways:
  /// the macro then writes `init(from:)`.
  ///
  /// The macro writes conformances to `DocumentCodable` and `DocumentModel`, or to
  /// `DocumentValueCodable` for an enumeration with raw values. You can write
  /// the conformances by hand; see those protocols.
  @attached(member, names: named(Fields), named(fields))
  @attached(
    extension, conformances: DocumentCodable, DocumentValueCodable, DocumentModel,
    names: named(documentFields), named(write(fields:)), named(init(fields:)), named(init(from:)),
    named(DocumentCases))
  public macro Document() =
    #externalMacro(module: "HearthMacrosPlugin", type: "DocumentMacro")
#endif
