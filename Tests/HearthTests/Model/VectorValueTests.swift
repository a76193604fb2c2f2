import Testing

@testable import Hearth
@testable import HearthEngine

struct VectorValueTests {
  @Test func `equal vectors are equal as objects and copies`() {
    let one = VectorValue([1, .nan])
    #expect(one == VectorValue([1, .nan]))
    #expect(one.hash == VectorValue([1, .nan]).hash)
    let otherNaN = VectorValue([1, Double(bitPattern: 0xFFF8_0000_0000_0001)])
    #expect(one == otherNaN && one.hash == otherNaN.hash)
    #expect(one.copy() as? VectorValue == one)
    #expect(one != VectorValue([1]))
    #expect(one != VectorValue([1, 2]))
    #expect(!one.isEqual([1.0]))
    #expect(VectorValue([1]).description == "<VectorValue: [1.0]>")
  }

  @Test func `vectors are made of doubles and of floats`() {
    #expect(FieldValue.vector([0.5, 1]).array == [0.5, 1])
    #expect(FieldValue.vector([Float(0.5), 1]).array == [0.5, 1])
    #expect(FieldValue.vector([1.0]) == VectorValue([1]))
  }
}
