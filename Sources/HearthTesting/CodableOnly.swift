import Hearth

/// Codes a value through `Codable` alone: no type in it is read or written directly.
///
/// Its own conformance refuses, and a document that is refused once is coded through `Codable` as a
/// whole.
package struct CodableOnly<Model: Codable>: DocumentValueCodable {
  package let model: Model

  package init(_ model: Model) { self.model = model }

  package init(from decoder: any Decoder) throws {
    model = try decoder.singleValueContainer().decode(Model.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(model)
  }

  package init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    throw UseCodable()
  }

  package func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    throw UseCodable()
  }
}
