import Foundation
import Hearth
import HearthText

/// An error, in one sentence for people. It never has the name of a Swift type or a number of the
/// system.
package struct Failure: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }

  /// The sentence of any error: of the database, of the file system, or what its author has written.
  package init(describing error: any Error) {
    let report = error as NSError
    if let failure = error as? Failure {
      self = failure
    } else if error is CancellationError {
      self.init("The command was cancelled.")
    } else if report.domain == FirestoreErrorDomain {
      self.init(report.localizedDescription)
    } else if let sentence = FileError.sentence(for: error) {
      self.init((FileError.path(of: error).map { "\($0.legible): " } ?? "") + sentence)
    } else if let described = (error as? any LocalizedError)?.errorDescription {
      self.init(described)
    } else if type(of: error) is any CustomStringConvertible.Type {
      // Every error can be cast, by way of NSError: its type is asked.
      self.init("\(error)")
    } else {
      self.init(
        "The command failed for a reason that has no description. Report it as a defect of Hearth: "
          + "\(String(reflecting: error))")
    }
  }
}
