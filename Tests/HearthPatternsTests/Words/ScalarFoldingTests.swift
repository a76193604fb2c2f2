import Foundation
import Synchronization
import Testing

@testable import HearthPatterns

@Suite struct ScalarFoldingTests {
  @Test func `threads that fill the table at once read the same foldings`() {
    let scalars = (0..<0x3400 as Range<UInt32>).compactMap(Unicode.Scalar.init)
    @Sendable func read(_ folding: ScalarFolding) -> [[UInt32]] {
      scalars.map { Array(folding[$0.value].scalars) }
    }
    let expected = read(.plain)
    let folding = ScalarFolding(keepsAccents: false)
    let different = Mutex(0)
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      if read(folding) != expected { different.withLock { $0 += 1 } }
    }
    #expect(different.withLock(\.self) == 0)
  }

  @Test func `a folding has no accents, no upper case and no more foldings`() {
    for value in 0..<0x20000 as Range<UInt32> {
      guard Unicode.Scalar(value) != nil else { continue }
      for folded in ScalarFolding.plain[value].scalars {
        let again = ScalarFolding.plain[folded]
        #expect(again.wordBreak == .other || Array(again.scalars) == [folded], "\(value)")
      }
    }
  }

  @Test func `letters of ISO 8859-1 lose their accents as the table removes them`() throws {
    for value in 0xC0...0xFF as ClosedRange<UInt32> {
      let accented = Array(ScalarFolding.accented[value].scalars)
      guard ScalarFolding.plain[value].wordBreak == .letter else { continue }
      let storage = UnsafeMutablePointer<UInt8>.allocate(capacity: StemmerBuffer.capacity)
      defer { storage.deallocate() }
      storage.initialize(repeating: 0, count: StemmerBuffer.capacity)
      for (index, scalar) in accented.enumerated() {
        storage[StemmerBuffer.letterOffset + index] = try #require(UInt8(exactly: scalar))
      }
      let word = StemmerBuffer(storage, count: accented.count)
      word.removeMarksAndAccents()
      #expect(word.bytes.map(UInt32.init) == Array(ScalarFolding.plain[value].scalars))
    }
  }
}
