import Foundation

/// Paths as texts, without symbolic links being followed.
enum Paths {
  /// The path from a folder on: `../shared` from `/app/dataconnect` is `/app/shared`.
  static func absolute(_ path: String, from folder: String) -> String {
    let whole = path.hasPrefix("/") ? path : "\(folder)/\(path)"
    var parts: [Substring] = []
    for part in whole.split(separator: "/") where part != "." {
      if part == ".." {
        _ = parts.popLast()
      } else {
        parts.append(part)
      }
    }
    return "/" + parts.joined(separator: "/")
  }

  /// How an absolute path is written in a folder: `../shared`.
  static func relative(_ path: String, to folder: String) -> String {
    let target = path.split(separator: "/")
    let base = folder.split(separator: "/")
    let common = zip(target, base).prefix { $0 == $1 }.count
    let parts = base[common...].map { _ in ".." } + target[common...].map(String.init)
    return parts.isEmpty ? "." : parts.joined(separator: "/")
  }

  static func parent(_ path: String) -> String { absolute("..", from: path) }

  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
      && isFolder.boolValue
  }

  static func isFile(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path) && !isFolder(path)
  }

  /// The files below a folder whose names end in one of the extensions, by path. Hidden folders, such
  /// as `.dataconnect`, are left out.
  static func files(below folder: String, withExtensions extensions: Set<String>) -> [String] {
    var result: [String] = []
    func visit(_ folder: String) {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
      for name in names where !name.hasPrefix(".") {
        let path = "\(folder)/\(name)"
        if isFolder(path) {
          // A link to a folder can lead back to a folder above it.
          guard (try? FileManager.default.destinationOfSymbolicLink(atPath: path)) == nil else {
            continue
          }
          visit(path)
        } else if let dot = name.lastIndex(of: "."),
          extensions.contains(String(name[name.index(after: dot)...]))
        {
          result.append(path)
        }
      }
    }
    visit(folder)
    return result.sorted()
  }
}
