import Foundation

/// Writes the files of a generated package.
///
///     Movies/
///       .hearth-generated     the paths of the files that were written: they are owned
///       Package.swift …       owned, or with the header of generated files
///
/// Writes only files that differ, so that builds stay incremental. Removes files that it wrote once
/// and that are not generated any more. Files of others stay; a file of theirs in the way is an
/// error, and then nothing is written.
public struct PackageWriter: Sendable {
  /// Absolute.
  public let folder: String

  /// On disk. One path a line, after a line with the header.
  static let manifestName = ".hearth-generated"
  private static let manifestHeader = "# Files that hearth generates. Do not edit."

  /// A writer for the package in a folder, which need not exist.
  public init(folder: String) {
    self.folder = folder
  }

  /// A file that is not as it would be generated.
  public struct Difference: Hashable, Sendable, CustomStringConvertible {
    /// How it differs.
    public enum Kind: String, Sendable {
      /// Generated, and not in the folder.
      case missing
      /// A generated file with other contents.
      case different
      /// Not generated any more.
      case stale
      /// In the way, and not a generated one.
      case foreign
    }

    /// How the file differs.
    public let kind: Kind
    /// Relative to the folder of the package.
    public let path: String

    /// A sentence with the path: `Sources/MoviesKeys.swift is stale`.
    public var description: String { "\(path) is \(kind.rawValue)" }
  }

  /// The changes of a run: paths, relative to the folder of the package.
  public struct Report: Hashable, Sendable {
    /// The files that were written, sorted by their paths.
    public internal(set) var written: [String] = []
    /// The files that were removed, sorted by their paths.
    public internal(set) var removed: [String] = []

    /// Nothing was changed.
    public var isEmpty: Bool { written.isEmpty && removed.isEmpty }
  }

  /// A file of somebody else has the path of a generated one. Move it, or choose another `outputDir` or
  /// `package`.
  public struct ForeignFileError: Error, Hashable, CustomStringConvertible {
    /// Absolute.
    public let path: String

    /// A sentence with the path and the remedy.
    public var description: String {
      "\(path) is in the way: hearth has not generated it. Move it, or choose another outputDir."
    }
  }

  /// The files that a run would write or remove. Empty if the package is current.
  public func differences(from files: [GeneratedFile]) -> [Difference] {
    let owned = ownedPaths()
    var result: [Difference] = []
    for file in files {
      guard let data = contents(of: file.path) else {
        // A folder, or a file that cannot be read.
        let isInTheWay = FileManager.default.fileExists(atPath: "\(folder)/\(file.path)")
        result.append(Difference(kind: isInTheWay ? .foreign : .missing, path: file.path))
        continue
      }
      if data == Data(file.text.utf8) { continue }
      let isOurs = owned.contains(file.path) || Self.hasHeader(data)
      result.append(Difference(kind: isOurs ? .different : .foreign, path: file.path))
    }
    let generated = Set(files.map(\.path))
    for path in owned.union(sourcesWithHeader()).subtracting(generated) {
      // A file without the header was replaced by somebody.
      guard let data = contents(of: path), Self.hasHeader(data) else { continue }
      result.append(Difference(kind: .stale, path: path))
    }
    return result.sorted { $0.path < $1.path }
  }

  /// Makes the package current.
  ///
  /// All new files are complete in a folder beside their places before the first is renamed to its
  /// place. Stale files are removed after that. Throws a `ForeignFileError`, or an error of the file system.
  public func write(_ files: [GeneratedFile]) throws -> Report {
    let differences = differences(from: files)
    if let foreign = differences.first(where: { $0.kind == .foreign }) {
      throw ForeignFileError(path: "\(folder)/\(foreign.path)")
    }
    var report = Report()
    report.written = differences.filter { $0.kind != .stale }.map(\.path)
    report.removed = differences.filter { $0.kind == .stale }.map(\.path)
    try FileStaging.replace(files.filter { report.written.contains($0.path) }, in: folder)
    for path in report.removed {
      try FileManager.default.removeItem(atPath: "\(folder)/\(path)")
    }
    // Last, so that after a failure the files of before are still known.
    let manifest = GeneratedFile(
      path: Self.manifestName,
      text: ([Self.manifestHeader] + files.map(\.path).sorted()).joined(separator: "\n") + "\n")
    if contents(of: manifest.path) != Data(manifest.text.utf8) {
      try FileStaging.replace([manifest], in: folder)
    }
    return report
  }

  // MARK: - Owned files

  /// Paths of the manifest. None leads out of the folder.
  private func ownedPaths() -> Set<String> {
    guard let data = contents(of: Self.manifestName) else { return [] }
    let lines = String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    return Set(
      lines.filter { line in
        !line.hasPrefix("#") && !line.hasPrefix("/")
          && !line.split(separator: "/").contains("..")
      })
  }

  /// Generated files in `Sources`: the manifest may be lost.
  private func sourcesWithHeader() -> Set<String> {
    let names =
      (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/Sources")) ?? []
    return Set(
      names.filter { $0.hasSuffix(".swift") }.map { "Sources/\($0)" }
        .filter { contents(of: $0).map(Self.hasHeader) ?? false })
  }

  private func contents(of path: String) -> Data? {
    FileManager.default.contents(atPath: "\(folder)/\(path)")
  }

  /// Whether one of the first lines is the header of generated files.
  private static func hasHeader(_ data: Data) -> Bool {
    let beginning = String(decoding: data.prefix(400), as: UTF8.self)
    return beginning.split(separator: "\n", omittingEmptySubsequences: false).prefix(2)
      .contains { line in
        line.hasPrefix("// \(SwiftGenerator.headerBeginning)")
          || line.hasPrefix("<!-- \(SwiftGenerator.headerBeginning)")
      }
  }
}
