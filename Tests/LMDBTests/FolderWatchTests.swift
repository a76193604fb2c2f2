import Foundation
import Glibc
import TestSupport
import Testing

@testable import LMDB

@Suite(.ownThreads) struct FolderWatchTests {
  @Test func `a change is seen however soon it comes after a look`() throws {
    let file = try TestFile()
    let name = file.directory + "/name"
    var watch = FolderWatch([file.directory])
    var looks = 0
    var random = SeededGenerator(seed: 9)
    for round in 0..<300 {
      try Data().write(to: URL(fileURLWithPath: name))
      // The folder is new, about as old as counts, or old.
      random.pause(below: round % 50 == 0 ? 250_000 : 3000)
      for _ in 0..<3 {
        let isThere = watch.isUnchanged {
          looks += 1
          return access(name, F_OK) == 0
        }
        #expect(isThere)
      }
      unlink(name)
      let isThere = watch.isUnchanged {
        looks += 1
        return access(name, F_OK) == 0
      }
      #expect(!isThere, "round \(round)")
    }
    #expect(looks > 300)
  }

  @Test func `nothing is looked at while nothing changes, and a folder that is moved is noticed`()
    throws
  {
    let file = try TestFile()
    let (folder, other) = (file.directory + "/folder", file.directory + "/other")
    mkdir(folder, 0o700)
    usleep(150_000)
    var watch = FolderWatch([folder])
    var looks = 0
    for _ in 0..<10 {
      let isUnchanged = watch.isUnchanged {
        looks += 1
        return true
      }
      #expect(isUnchanged)
    }
    #expect(looks == 1)
    try #require(rename(folder, other) == 0)
    let isThere = watch.isUnchanged { true }
    #expect(!isThere, "There is no folder.")
    mkdir(folder, 0o700)
    let isUnchanged = watch.isUnchanged { false }
    #expect(!isUnchanged)
  }
}
