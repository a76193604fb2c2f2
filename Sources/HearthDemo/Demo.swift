/// A program on Hearth: puts an index of packages, or a few books, into a new database, reads them back, listens, and
/// reopens the file.
enum Demo {
  /// - Parameters:
  ///   - index: A file in the format of `apt-cache dumpavail`. Nil: what apt prints here, or the books without apt.
  ///   - books: Takes the books in any case.
  static func run(
    index: String?, books: Bool, at path: String, on screen: DemoScreen
  ) async throws -> DemoFigures {
    if !books, let index {
      var run = DemoRun<DebianPackage>(.file(index), at: path, on: screen)
      return try await run.run()
    }
    if !books, await StanzaSource.hasPackages() {
      var run = DemoRun<DebianPackage>(.apt, at: path, on: screen)
      return try await run.run()
    }
    var run = DemoRun<Book>(.text(Book.samples), at: path, on: screen)
    return try await run.run()
  }
}
