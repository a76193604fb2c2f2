import Foundation

@testable import Hearth
@testable import HearthEngine

/// A type the database knows nothing about.
struct Unsupported {}

/// Stands for the public reference.
final class Reference: NSObject, DocumentReferencing {
  let resourcePath: ResourcePath
  let databaseIdentity: DatabaseIdentity
  let validationError: Status?

  init(
    _ path: String, in database: DatabaseIdentity = DatabaseIdentity(project: "home"),
    fault: Status? = nil
  ) {
    resourcePath = ResourcePath(relative: path)
    databaseIdentity = database
    self.validationError = fault
  }
}
