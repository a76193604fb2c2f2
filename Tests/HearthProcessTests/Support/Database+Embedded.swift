@testable import Hearth
@testable import HearthEngine

extension Database {
  /// The layers below an open database.
  var embedded: EmbeddedBackend {
    get throws {
      guard let embedded = backend as? EmbeddedBackend else {
        throw Status(.unimplemented, "The database is not embedded.")
      }
      return embedded
    }
  }
}
