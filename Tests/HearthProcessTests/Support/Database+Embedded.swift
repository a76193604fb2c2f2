@testable import Hearth

extension Database {
  /// The layers below an open database.
  var embedded: EmbeddedBackend {
    guard let embedded = backend as? EmbeddedBackend else { preconditionFailure("not embedded") }
    return embedded
  }
}
