import CLMDB
import Foundation
import Testing

@testable import LMDB

struct LMDBErrorTests {
  private static let library = MDB_KEYEXIST...MDB_LAST_ERRCODE
  private static let own = LMDBError.noFolder.code...LMDBError.closed.code

  /// What calls on files return.
  private static let system = [
    EPERM, ENOENT, EINTR, EIO, ENXIO, EBADF, EAGAIN, ENOMEM, EACCES, EFAULT, EBUSY, EEXIST, EXDEV,
    ENODEV, ENOTDIR, EISDIR, EINVAL, ENFILE, EMFILE, ETXTBSY, EFBIG, ENOSPC, EROFS, EMLINK, EPIPE,
    EDEADLK, ENAMETOOLONG, ENOLCK, ENOSYS, ELOOP, EOVERFLOW, EOPNOTSUPP, ESTALE, EDQUOT, EUCLEAN,
  ]

  @Test func `every error of the library, of the system and of our own has sentences of its own`() {
    for code in Array(Self.library) + Self.own + Self.system {
      let message = LMDBError(code).message
      #expect(LMDBError.sentences[code] != nil, "\(code): \(message)")
      #expect(message.hasSuffix(".") && !message.contains("MDB_"), "\(code): \(message)")
      #expect(message != "\(String(cString: mdb_strerror(code))).", "\(code): \(message)")
    }
  }

  @Test func `an error without sentences says its number, for a search`() {
    let message = LMDBError(EPROTO).message
    #expect(message == "The system refused the call, with error 71: Protocol error.")
  }

  @Test func `the processes that are in the way are named behind the sentence`() {
    let error = LMDBError(LMDBError.openElsewhere.code, processIDs: [7, 8])
    #expect(error.message.hasSuffix("Close it there first. Process 7, 8."))
  }

  @Test func `an empty file becomes a database when it is written, and is named when it is read`()
    throws
  {
    let file = try TestFile()
    try Data().write(to: URL(fileURLWithPath: file.path))
    let refused = #expect(throws: LMDBError.emptyFile) {
      _ = try file.open { $0.isReadOnly = true }
    }
    #expect(refused?.message.contains("is empty") == true)
    #expect(try Data(contentsOf: URL(fileURLWithPath: file.path)).isEmpty)
    let environment = try file.open()
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    environment.close()
    #expect(try file.open { $0.isReadOnly = true }.text("t", "a") == "1")
  }

  @Test func `a new file is withdrawn only if it is new, unchanged and not in use`() throws {
    let file = try TestFile()
    func names() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: file.directory))
    }
    try file.open().closeAndWithdraw()
    #expect(try names().isEmpty)
    // With a commit.
    var environment = try file.open()
    try environment.write { try $0.put(environment.table("t"), "a", "1") }
    environment.closeAndWithdraw()
    #expect(try names().contains("data"))
    // There before.
    environment = try file.open()
    environment.closeAndWithdraw()
    #expect(try file.open().text("t", "a") == "1")
  }

  @Test func `a new file in a folder that does not exist says so`() throws {
    let file = try TestFile()
    let path = file.directory + "/missing/data"
    #expect(throws: LMDBError.noFolder) {
      _ = try Environment.open(at: path, configuration: EnvironmentConfiguration(tables: ["t"]))
    }
    #expect(throws: LMDBError.noFolder) { _ = try NewFile(for: path, replacing: false) }
  }
}
