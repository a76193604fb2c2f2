import FirebaseFirestore
import Hummingbird

/// Answers errors of the database with the HTTP status that fits.
struct ErrorResponses<Context: RequestContext>: RouterMiddleware {
  func handle(
    _ request: Request, context: Context,
    next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as FirestoreErrorCode {
      context.logger.warning("\(error)")
      // Not its message, which may name files.
      throw HTTPError(status(for: error))
    } catch is DecodingError {
      // A document of another shape than the model.
      throw HTTPError(.internalServerError, message: "A stored document cannot be read.")
    }
  }

  private func status(for error: FirestoreErrorCode) -> HTTPResponse.Status {
    switch error.code {
    case .invalidArgument: .badRequest
    case .outOfRange: .gone
    case .notFound: .notFound
    case .alreadyExists: .conflict
    case .failedPrecondition where error.isUpdateTimeMismatch: .preconditionFailed
    case .failedPrecondition where error.isReferenced: .conflict
    case .aborted, .unavailable, .resourceExhausted: .serviceUnavailable
    default: .internalServerError
    }
  }
}
