import Testing

/// The folders of a module, as the page on the architecture lists them. The tidy tests check the sources against it.
///
///     | Layer | Folder | Owns |
///     |---|---|---|
///     | 0 | `Support` | varints, byte-wise strings, … |
struct FolderTable: CustomTestStringConvertible {
  struct Row {
    /// 0 in a table without layers.
    let layer: Int
    /// Inside the module: `Backend/Copy`.
    let folder: String
  }

  static let page = "Sources/Hearth/Hearth.docc/Architecture.md"

  /// From the package's folder: `Sources/HearthEngine`.
  let module: String
  let rows: [Row]

  var testDescription: String { module }

  /// Reads the table that begins with this line of the page. Has no rows if there is none.
  init(_ head: String, of module: String) {
    self.module = module
    let lines = (SourceTree.text(of: Self.page) ?? "").split(
      separator: "\n", omittingEmptySubsequences: false)
    rows = lines.drop { $0 != head }.dropFirst(2).prefix { $0.hasPrefix("|") }.compactMap { line in
      let cells = line.split(separator: "|").map { $0.filter { !" `".contains($0) } }
      let layer = cells.first.flatMap { Int($0) }
      guard let folder = layer == nil ? cells.first : cells.dropFirst().first else { return nil }
      return Row(layer: layer ?? 0, folder: folder)
    }
  }

  /// The row of the innermost listed folder that a file is in; nil if there is none.
  func row(of file: SourceFile) -> Row? {
    let place = file.folder(below: module) + "/"
    return rows.filter { place.hasPrefix($0.folder + "/") }.max {
      $0.folder.count < $1.folder.count
    }
  }
}
