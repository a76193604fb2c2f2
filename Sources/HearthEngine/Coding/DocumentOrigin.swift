/// What a type that documents know asks Hearth's decoders, of a stored document or of a structure:
///
///     switch try DocumentOrigin(documentOf: decoder) { … }
///
/// The counterpart of `DocumentSink`.
package enum DocumentOrigin {
  /// A reference that a structure holds, or was given.
  case object(any DocumentReferencing)
  /// A path, and where it is, in the terms of who decodes.
  case path(ResourcePath, in: DocumentDecoder.Context)

  /// The document that is decoded; nil if the data is not a document's, and for any other decoder.
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

  /// The reference to be decoded; nil for any other decoder. Throws `DecodingError` for another value.
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
