/// A type that reads and writes a document's bytes directly, which is several times as fast as
/// `Codable`.
///
/// By hand:
///
///     struct Book: Codable {
///       var title: String
///       var pages: Int?
///     }
///
///     extension Book: DocumentCodable {
///       static let documentFields = DocumentFields<Book>("pages", "title")
///
///       func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
///         try fields.write(pages, at: 0)
///         try fields.write(title, at: 1)
///       }
///
///       init(fields: borrowing DocumentMapReader) throws(UseCodable) {
///         pages = try fields.read(at: 0)
///         title = try fields.read(at: 1)
///       }
///     }
///
/// A large structure is read a little faster if all values are read before the first is assigned:
/// Swift then makes it where it is returned. `@Document` writes it like that.
///
/// The bytes must be those that the type's `Codable` conformance gives. Wherever a value is not of
/// the expected kind, and wherever a coder has settings other than the default ones that matter,
/// Hearth codes the value again through `Codable`: the results and the errors are always its own.
///
/// Structures, enumerations and final classes can conform. Property wrappers are written as
/// themselves: `fields.write(wrapper: _created, at: 2)` for `@ServerTimestamp var created`.
public protocol DocumentCodable: DocumentValueCodable {
  /// The names of the fields.
  static var documentFields: DocumentFields<Self> { get }

  /// Writes the fields. Throws `UseCodable` for a value that only `Codable` can encode.
  func write(fields: borrowing DocumentMapWriter) throws(UseCodable)

  /// Reads the fields. Throws `UseCodable` if a field is missing or of another kind.
  init(fields: borrowing DocumentMapReader) throws(UseCodable)
}

extension DocumentCodable {
  @inlinable
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.map(Self.documentFields) { fields throws(UseCodable) in
      try write(fields: fields)
    }
  }

  @inlinable
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    self = try reader.map(Self.documentFields) { fields throws(UseCodable) in
      try Self(fields: fields)
    }
  }
}

/// A type whose values are stored as one value of a document: a number, a string, an array.
///
/// A type with raw values needs no more than this:
///
///     extension Genre: DocumentValueCodable {}
///
/// Any other, for example one that `Codable` writes as a string:
///
///     extension ISBN: DocumentValueCodable {
///       func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
///         try writer.string(digits)
///       }
///
///       init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
///         digits = try reader.string()
///       }
///     }
///
/// A class that conforms must be final: a subclass would be written as its superclass.
public protocol DocumentValueCodable: Codable {
  /// Writes exactly one value. Throws `UseCodable` for a value that only `Codable` can encode.
  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable)

  /// Reads the value. Throws `UseCodable` if it is of another kind.
  init(reading reader: borrowing DocumentValueReader) throws(UseCodable)
}

/// A type that documents hold in a form that `Codable` does not read: a reference to another document,
/// for example, for a type that `Codable` writes as a map.
///
///     struct Author: Codable {
///       var reference: DocumentReference
///     }
///
///     extension Author: DocumentOnlyCodable {
///       func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
///         try reference.write(to: writer)
///       }
///
///       init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
///         reference = try DocumentReference(reading: reader)
///       }
///     }
///
/// It is read directly also if `Codable` decodes the rest of the document. If it throws `UseCodable`, only
/// this value is decoded through `Codable`.
public protocol DocumentOnlyCodable: DocumentValueCodable {}

/// The types of raw values that `Codable` writes in place of the type that has them: the standard
/// library's strings, numbers and `Bool`.
public protocol DocumentRawValue: DocumentValueCodable {}

extension DocumentValueCodable where Self: RawRepresentable, RawValue: DocumentRawValue {
  @inlinable
  public func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try rawValue.write(to: writer)
  }

  @inlinable
  public init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    guard let value = Self(rawValue: try RawValue(reading: reader)) else { throw UseCodable() }
    self = value
  }
}

/// A type of a field that may be missing: a property wrapper.
public protocol DocumentFieldCodable: DocumentValueCodable {
  /// The value of a field that is missing from `map`. Throws `UseCodable` if there is none.
  init(missingFrom map: borrowing DocumentMapReader) throws(UseCodable)
}

/// A value that is not coded directly: Hearth codes it through `Codable` instead, which returns the
/// value or the error.
///
/// After a call of a writer that has thrown it, the whole document is encoded through `Codable`, also
/// if the error was caught. A type that reads may catch it, and try another kind.
public struct UseCodable: Error {
  /// Throw it from `write(to:)` or `init(reading:)` for a value that only `Codable` can handle.
  @inlinable
  public init() {}
}
