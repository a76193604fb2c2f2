#if Tools
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  /// A file of text that an argument names.
  enum TextFile {
    /// The content, without a byte order mark. Throws a `Failure` that names the file and what helps.
    static func read(_ path: String) throws -> String {
      let data: Data
      do {
        data = try Data(contentsOf: URL(fileURLWithPath: path))
      } catch {
        let reason = FileError.sentence(for: error).map { " \($0)" } ?? ""
        throw Failure("\(path.legible) cannot be read.\(reason)")
      }
      let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
      let content = data.starts(with: mark) ? data.dropFirst(mark.count) : data
      guard let text = String(data: content, encoding: .utf8) else {
        throw Failure("\(path.legible) is not UTF-8 text. Save it as UTF-8.")
      }
      return text
    }
  }
#endif
