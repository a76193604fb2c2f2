import Foundation
internal import HearthText

/// Reads an export, line by line.
///
/// A line that is not a document is a fault, reported with its number. So is the missing last line
/// of a file that begins as an export: the file was truncated.
struct ExportedLines: ~Copyable {
  private let path: String
  private let file: FileHandle
  private let totalBytes: Int
  private var buffer: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  private(set) var bytesRead = 0
  private(set) var lineNumber = 0
  private var documents = 0
  /// Lines that are not a document that the database can store.
  private var invalidDocuments = 0
  /// Whether the first line is the header of an export.
  private(set) var isWholeExport = false
  /// Of the header, if there is one.
  private(set) var definitions = ExportedDefinitions()
  private(set) var commitTime: Instant?
  /// Later times are faults; nil if times are not checked.
  private let latestTime: Instant?
  private var hasEnd = false

  static let lineLimitBytes = 256 << 20

  /// - Parameter latestTime: Later times of documents are faults, because commit times continue
  ///   from the latest one.
  init(path: String, latestTime: Instant? = nil) throws {
    self.latestTime = latestTime
    guard let file = FileHandle(forReadingAtPath: path) else {
      throw Status(
        .notFound,
        "There is no file \(path.legible), or it cannot be read. \(FileError.sentence(forCode: errno))"
      )
    }
    self.path = path
    self.file = file
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    totalBytes = (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  deinit { try? file.close() }

  func report(_ progress: MaintenanceReporter) throws {
    try progress(.importing, bytesRead, of: totalBytes)
  }

  /// The next document; nil at the end. Throws `InvalidLineError`, after which the next call continues
  /// with the next line, and `invalidArgument` for an export of a later version.
  mutating func next() throws -> DocumentJSON.Line? {
    while let line = try nextLine() {
      lineNumber += 1
      if JSONReader.isBlank(line) { continue }
      do {
        let json = try JSONReader.read(Array(line), roundingLongIntegers: true)
        if lineNumber == 1, let version = json["hearthExport"] {
          guard version == .integer(1) else { throw UnknownVersion() }
          isWholeExport = true
          commitTime = json["commitTime"]?.string.flatMap { Instant(text: $0) }
          try checkTime(commitTime, "commitTime")
          definitions = try ExportedDefinitions(header: json)
          continue
        }
        if json["name"] == nil, case .integer(let count)? = json["documents"] {
          hasEnd = true
          guard count == documents + invalidDocuments else {
            throw Status.invalidArgument(
              "The export had \(count) documents, here are \(documents + invalidDocuments).")
          }
          continue
        }
        // Counted as invalid until it is known to be valid.
        invalidDocuments += 1
        let document = try DocumentJSON.line(json)
        try Self.check(document)
        try checkTime(document.createTime, "createTime")
        try checkTime(document.updateTime, "updateTime")
        invalidDocuments -= 1
        documents += 1
        return document
      } catch is UnknownVersion {
        // Not a line to skip: the other lines may mean something else in that version.
        throw Status.invalidArgument(
          "Line 1: The export has a version that this Hearth cannot read.")
      } catch let error as JSONError {
        invalidDocuments += 1
        throw fault(error.description.replacingOccurrences(of: " at line 1,", with: " at"))
      } catch let error as Status {
        throw fault(error.message)
      }
    }
    if isWholeExport, !hasEnd {
      hasEnd = true
      lineNumber += 1
      throw fault("The file ends early: an export's last line counts its documents.")
    }
    return nil
  }

  private func fault(_ problem: String) -> InvalidLineError {
    InvalidLineError(invalidLine: .init(line: lineNumber, problem: problem))
  }

  private struct UnknownVersion: Error {}

  struct InvalidLineError: Error {
    let invalidLine: ImportReport.InvalidLine
  }

  /// Checks the limits of every database here, so that an error is reported with its line.
  private static func check(_ document: DocumentJSON.Line) throws(Status) {
    try document.path.checkNames()
    let body = try DocumentBody(encoding: document.fields)
    try body.checkFields()
    try Limits.check(body, at: document.path)
  }

  private func checkTime(_ time: Instant?, _ name: String) throws(Status) {
    guard let time, let latestTime, time > latestTime else { return }
    throw .invalidArgument("The \(name) \(time.text) lies in the future.")
  }

  private mutating func nextLine() throws -> ArraySlice<UInt8>? {
    var searched = start
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        defer { start = end + 1 }
        return buffer[start..<end]
      }
      if isAtEnd {
        guard start < buffer.count else { return nil }
        defer { start = buffer.count }
        return buffer[start...]
      }
      guard buffer.count - start <= Self.lineLimitBytes else {
        throw Status.invalidArgument("Line \(lineNumber + 1) is longer than any document.")
      }
      buffer.removeFirst(start)
      start = 0
      searched = buffer.count
      let more: Data
      do {
        more = try file.read(upToCount: 1 << 20) ?? Data()
      } catch {
        let reason = FileError.sentence(for: error).map { " \($0)" } ?? ""
        throw Status(
          .unavailable, "The file \(path.legible) cannot be read.\(reason)", cause: error)
      }
      if bytesRead == 0, DatabaseFile.isDatabase(more) {
        throw Status.invalidArgument(
          "\(path.legible) is a database, and not the lines of an export. Name the file with the lines, or "
            + "export this one first.")
      }
      bytesRead += more.count
      isAtEnd = more.isEmpty
      buffer += more
    }
  }
}
