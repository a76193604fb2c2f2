/// Where a Firestore type (`DocumentID`, a reference) gets its value in Hearth's decoders:
///
///     switch try DocumentOrigin(documentOf: decoder) { … }
///
/// The counterpart of `DocumentSink`.
package enum DocumentOrigin {
  /// A reference in a structure, or the one that a structure is decoded for.
  case object(any DocumentReferencing)
  /// A path in a stored document, with the context of its decoder.
  case path(ResourcePath, in: DocumentDecoder.Context)

  /// The document being decoded; nil if the data is not a document's, and for any other decoder.
  package init?(documentOf decoder: any Decoder) throws {
    if let document = StructureDecoder.of(decoder)?.document {
      self = .object(document)
    } else if let context = DocumentDecoder.of(decoder)?.context,
      let path = try context.document?.path
    {
      self = .path(path, in: context)
    } else {
      return nil
    }
  }

  /// The reference being decoded; nil for any other decoder. Throws `DecodingError` for any other
  /// value.
  package init?<Reference: DocumentReferencing>(
    referenceIn decoder: any Decoder, as type: Reference.Type
  ) throws {
    if let reference = StructureDecoder.of(decoder)?.reference {
      self = .object(reference)
    } else if let decoder = DocumentDecoder.of(decoder) {
      let context = decoder.context
      guard context.owner != nil else { return nil }
      guard let path = try decoder.decodeReference() else {
        throw decoder.mismatch(type)
      }
      self = .path(path, in: context)
    } else {
      return nil
    }
  }
}
