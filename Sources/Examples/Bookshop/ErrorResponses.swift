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
      let status = httpStatus(for: error)
      context.logger.log(level: status < 500 ? .debug : .error, "\(error)")
      // Not its message, which may name files.
      throw HTTPError(.init(code: status))
    } catch is DecodingError {
      // A document of another shape than the model.
      throw HTTPError(.internalServerError, message: "A stored document cannot be read.")
    }
  }
}

/// The status of a response to a request that failed with `error`.
func httpStatus(for error: any Error) -> Int {
  guard let error = error as? FirestoreErrorCode else { return 500 }
  switch error.code {
  case .invalidArgument: return 400
  case .notFound: return 404
  case .alreadyExists: return 409
  case .outOfRange: return 410
  case .failedPrecondition where error.isUpdateTimeMismatch: return 412
  case .failedPrecondition where error.isReferenced || error.isDanglingReference: return 409
  case .cancelled: return 499
  case .unimplemented: return 501
  case .resourceExhausted, .aborted, .unavailable: return 503
  default: return 500
  }
}
