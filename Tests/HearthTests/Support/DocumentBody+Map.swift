@testable import Hearth
@testable import HearthEngine

extension DocumentBody {
  /// For maps that tests make, which are never too large.
  init(_ map: MapValue) {
    do throws(Status) {
      try self.init(encoding: map)
    } catch {
      preconditionFailure("A test made a document that is too large: \(error)")
    }
  }
}

extension Mutation.Operation {
  static func patch(_ fields: MapValue, mask: [FieldSegments]) -> Mutation.Operation {
    .patch(DocumentBody(fields), mask: mask)
  }
}
