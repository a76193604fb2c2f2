import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

/// Expects the database's error of this code, and gives its sentence.
@discardableResult
func expectRefused(
  _ code: FirestoreErrorCode.Code, sourceLocation: SourceLocation = #_sourceLocation,
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async -> String? {
  do {
    try await body()
    Issue.record("Nothing was refused.", sourceLocation: sourceLocation)
    return nil
  } catch {
    #expect(code ~= error, "\(error)", sourceLocation: sourceLocation)
    return error.localizedDescription
  }
}

/// The code of what the body throws; nil if it throws nothing.
func code(of body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
  do {
    try await body()
    return nil
  } catch {
    return FirestoreErrorCode.Code(rawValue: (error as NSError).code)
  }
}
