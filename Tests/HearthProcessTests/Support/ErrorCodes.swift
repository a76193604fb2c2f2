import Foundation
import Hearth

/// The code of what the body throws; nil if it throws nothing.
func code(of body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
  do {
    try await body()
    return nil
  } catch {
    return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
  }
}
