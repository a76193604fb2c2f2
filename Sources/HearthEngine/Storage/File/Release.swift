/// The version of this package. The one place that names it.
package enum Release {
  /// There is no release yet. The first one takes its number from its tag.
  package static let version = "0.0.0"

  /// The format of files that this version writes; see StorageLayout.
  package static var fileFormat: Int { Int(FileFormat.current.version) }
}
