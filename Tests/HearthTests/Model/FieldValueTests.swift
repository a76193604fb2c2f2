import Testing

@testable import Hearth
@testable import HearthEngine

struct FieldValueTests {
  @Test func `only the sentinels without operands are equal`() {
    #expect(FieldValue.delete() === FieldValue.delete())
    #expect(FieldValue.serverTimestamp() == FieldValue.serverTimestamp())
    #expect(FieldValue.delete() != FieldValue.serverTimestamp())
    #expect(FieldValue.increment(Int64(1)) != FieldValue.increment(Int64(1)))
    #expect(FieldValue.arrayUnion([1]) != FieldValue.arrayUnion([1]))
  }

  @Test func `a bare literal is an integer`() {
    guard case .increment(.integer(3)) = FieldValue.increment(3).transform,
      case .increment(.integer(3)) = FieldValue.increment(Int64(3)).transform,
      case .increment(.double(1.5)) = FieldValue.increment(1.5).transform,
      case .minimum(.integer(3)) = FieldValue.minimum(3).transform,
      case .minimum(.integer(3)) = FieldValue.minimum(Int64(3)).transform,
      case .minimum(.double(1.5)) = FieldValue.minimum(1.5).transform,
      case .maximum(.integer(3)) = FieldValue.maximum(3).transform,
      case .maximum(.integer(3)) = FieldValue.maximum(Int64(3)).transform,
      case .maximum(.double(1.5)) = FieldValue.maximum(1.5).transform
    else {
      Issue.record("An operand has the wrong type.")
      return
    }
  }

  @Test(arguments: [
    (FieldValue.delete(), "<FieldValue.delete()>"),
    (.serverTimestamp(), "<FieldValue.serverTimestamp()>"),
    (.increment(1), "<FieldValue.increment()>"),
    (.minimum(1), "<FieldValue.minimum()>"),
    (.maximum(1), "<FieldValue.maximum()>"),
    (.arrayUnion([1]), "<FieldValue.arrayUnion()>"),
    (.arrayRemove([1]), "<FieldValue.arrayRemove()>"),
  ])
  func `a sentinel says how it is written`(sentinel: FieldValue, text: String) {
    #expect(sentinel.description == text)
  }
}
