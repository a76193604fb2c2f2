/// Memory for values on their way from the types that read them to those who asked for them. Used
/// like a stack. Temporary allocations of the standard library look up the types of what they
/// return, which costs as much as decoding some fields.
struct ScratchMemory {
  private let memory = UnsafeMutableRawPointer.allocate(
    byteCount: ScratchMemory.byteCount, alignment: ScratchMemory.alignment)
  /// The number of bytes in use.
  private(set) var mark = 0

  private static let byteCount = 8 << 10
  private static let alignment = 16

  /// Nil if there is not enough memory, or none with that alignment: a rare case, in which types are
  /// decoded through `Codable`.
  @inline(__always)
  mutating func borrow(byteCount: Int, alignment: Int) -> UnsafeMutableRawPointer? {
    let start = mark
    let end = (start + byteCount + ScratchMemory.alignment - 1) & ~(ScratchMemory.alignment - 1)
    guard end <= ScratchMemory.byteCount, alignment <= ScratchMemory.alignment else { return nil }
    mark = end
    return memory + start
  }

  /// Gives back all that was borrowed since `mark` had that value.
  @inline(__always)
  mutating func giveBack(to mark: Int) { self.mark = mark }
}
