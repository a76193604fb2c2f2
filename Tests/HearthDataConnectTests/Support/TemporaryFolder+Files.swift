import Foundation
import TestSupport

extension TemporaryFolder {
  /// At once, as editors do: a watch that looks meanwhile would report an empty file.
  func write(_ text: String, to file: String) throws {
    let url = URL(filePath: "\(path)/\(file)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url, options: .atomic)
  }

  func text(of file: String) -> String? {
    FileManager.default.contents(atPath: "\(path)/\(file)")
      .map { String(decoding: $0, as: UTF8.self) }
  }

  func remove(_ file: String) throws {
    try FileManager.default.removeItem(atPath: "\(path)/\(file)")
  }

  /// Paths of all files below the folder, hidden ones too.
  var files: [String] {
    let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return all.filter { file in
      var isFolder: ObjCBool = false
      return FileManager.default.fileExists(atPath: "\(path)/\(file)", isDirectory: &isFolder)
        && !isFolder.boolValue
    }.sorted()
  }
}
