import Testing

@testable import HearthDataConnect

@Suite struct PathsTests {
  @Test(arguments: [
    ("../shared", "/app/dataconnect", "/app/shared"), ("/a/b", "/c", "/a/b"), (".", "/a", "/a"),
    ("./x/../y", "/a", "/a/y"), ("../../..", "/a", "/"),
  ])
  func `a path is taken from a folder on`(path: String, folder: String, result: String) {
    #expect(Paths.absolute(path, from: folder) == result)
  }

  @Test(arguments: [
    ("/a/b/c", "/a", "b/c"), ("/a/b", "/a/c/d", "../../b"), ("/a", "/a", "."), ("/", "/a", ".."),
  ])
  func `a path is written in a folder`(path: String, folder: String, result: String) {
    #expect(Paths.relative(path, to: folder) == result)
    #expect(Paths.absolute(result, from: folder) == path)
  }
}
