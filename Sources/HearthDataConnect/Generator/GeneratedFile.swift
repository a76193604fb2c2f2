/// A file of a generated package: what a generator returns, and `PackageWriter` writes.
public struct GeneratedFile: Hashable, Sendable {
  /// Relative to the folder of the package: `Sources/MoviesClient.swift`.
  public var path: String
  /// The contents of the file.
  public var text: String

  /// A file with a path and a text.
  public init(path: String, text: String) {
    self.path = path
    self.text = text
  }
}
