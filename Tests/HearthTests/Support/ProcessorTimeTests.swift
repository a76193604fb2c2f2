import ProcessorTime
import Testing

/// What the tests of growth rest on.
@Suite struct ProcessorTimeTests {
  /// A number for each element, or for each pair of elements.
  private static func work(_ count: Int, isQuadratic: Bool) -> Int {
    var sum = 0
    for number in 0..<count * (isQuadratic ? count : 100) { sum &+= number ^ sum }
    return sum
  }

  @Test(arguments: [false, true])
  func `what grows with the square of its elements is told from what grows with them`(
    isQuadratic: Bool
  ) {
    var sums = 0
    let exponent = ProcessorTime.exponent(
      of: { sums ^= Self.work(800, isQuadratic: isQuadratic) },
      to: { sums ^= Self.work(50, isQuadratic: isQuadratic) }, factor: 16)
    #expect((exponent > 1.5) == isQuadratic, "\(exponent), \(sums)")
  }
}
