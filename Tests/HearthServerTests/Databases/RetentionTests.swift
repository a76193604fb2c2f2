#if Server && Tools
  import Foundation
  import HearthEngine
  import Logging
  import TestSupport
  import Testing

  @testable import HearthServer

  /// How long past states can be read is part of the file.
  @Suite struct RetentionTests {
    @Test func `backups, restored files and repaired ones keep it`() async throws {
      let folder = TemporaryFolder()
      func path(_ name: String) -> String { folder.path + "/" + name + ".hearth" }
      func open(_ name: String) throws -> EmbeddedBackend {
        try EmbeddedBackend(
          at: path(name), named: path(name), EmbeddedBackend.Settings(),
          logger: Logger(label: "test"))
      }
      func hearth(_ arguments: String...) throws {
        let (status, output) = try PythonClient.execute(PythonClient.hearth, arguments)
        try #require(status == 0, "\(arguments): \(output)")
      }
      try hearth("set", path("a"), "books/dune", #"{"pages": 412}"#)
      let own = ChangeLogRetention(age: .seconds(7200), limitBytes: 12_345_678)
      let backend = try open("a")
      try await backend.setRetention(own, isDefault: false)
      backend.close()
      try hearth("backup", path("a"), path("backup"))
      try hearth("restore", path("backup"), path("restored"))
      try hearth("repair", path("a"), path("repaired"))
      try hearth("compact", path("restored"))
      for name in ["backup", "restored", "repaired"] {
        let copy = try open(name)
        defer { copy.close() }
        #expect(try copy.storedRetention() == own, "\(name)")
      }
    }
  }
#endif
