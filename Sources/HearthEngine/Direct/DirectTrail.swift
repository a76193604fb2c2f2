/// The way from the document to the value that is read directly, for the coding path of a type
/// inside of it that is decoded through `Codable`.
struct DirectTrail {
  /// From a map or an array to a value in it.
  private struct Step {
    enum Kind {
      /// `base` is a `DocumentFieldTable`, `number` the index of the field.
      case field
      /// `base` is the name, `number` its length.
      case name
      case element
    }
    var kind = Kind.element
    var number = 0
    var base: UnsafeRawPointer?
  }

  /// Indexed by the depth of the map or array. Deeper values are not read.
  private let steps: UnsafeMutablePointer<Step>

  init() {
    steps = .allocate(capacity: DocumentFormat.maximumDepth + 1)
    steps.initialize(repeating: Step(), count: DocumentFormat.maximumDepth + 1)
  }

  @inline(__always)
  func enter(_ table: UnsafePointer<DocumentFieldTable>, atDepth depth: Int) {
    steps[depth].kind = .field
    steps[depth].base = UnsafeRawPointer(table)
  }

  /// After `enter(_:atDepth:)`.
  @inline(__always)
  func enter(field index: Int, atDepth depth: Int) { steps[depth].number = index }

  @inline(__always)
  func enter(fieldNamed name: UnsafeRawBufferPointer, atDepth depth: Int) {
    steps[depth] = Step(kind: .name, number: name.count, base: name.baseAddress)
  }

  @inline(__always)
  func enterArray(atDepth depth: Int) { steps[depth].kind = .element }

  /// After `enterArray(atDepth:)`.
  @inline(__always)
  func enter(element index: Int, atDepth depth: Int) { steps[depth].number = index }

  func key(atDepth depth: Int) -> AnyCodingKey {
    let step = steps[depth]
    switch step.kind {
    case .element: return .index(step.number)
    case .name:
      return .name(
        String(
          decoding: UnsafeRawBufferPointer(start: step.base, count: step.number), as: UTF8.self))
    case .field:
      guard let base = step.base else { return .index(0) }
      let table = base.assumingMemoryBound(to: DocumentFieldTable.self)
      return .name(table.pointee.name(atRank: Int(table.pointee.ranks[step.number])))
    }
  }
}
