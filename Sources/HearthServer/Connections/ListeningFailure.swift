#if Server
  import Foundation
  import GRPCCore
  import HearthEngine
  internal import HearthText
  import NIOCore

  /// Why a server does not listen, in sentences instead of the transport's numbers.
  enum ListeningFailure {
    /// Nil for an error that is not about the address.
    static func status(for error: any Error, at address: String) -> Status? {
      guard let failure = error as? RuntimeError, failure.code == .transportError,
        let cause = failure.cause
      else { return nil }
      let beginning = "Cannot listen at \(address.legible)."
      if cause is SocketAddressError {
        return Status(
          .invalidArgument, "\(beginning) The host is not an IP address, such as 127.0.0.1.",
          cause: error)
      }
      guard let code = (cause as? IOError)?.errnoCode else { return nil }
      let sentence =
        switch code {
        case EADDRINUSE: "Another program listens there. Choose another port."
        case EADDRNOTAVAIL: "This machine does not have the address. Choose one that it has."
        case EACCES, EPERM: "This user may not use the port. Choose one above 1023."
        default: FileError.sentence(forCode: code)
        }
      return Status(
        code == EADDRNOTAVAIL ? .invalidArgument : .unavailable, "\(beginning) \(sentence)",
        cause: error)
    }
  }
#endif
