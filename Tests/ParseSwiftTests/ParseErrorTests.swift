import Foundation
import Hearth
import TestSupport
import Testing

@testable import ParseSwift

@Suite struct ParseErrorTests {
  private static func error(_ code: FirestoreErrorCode.Code) -> NSError {
    NSError(domain: FirestoreErrorDomain, code: code.rawValue)
  }

  @Test(arguments: [
    (FirestoreErrorCode.Code.notFound, ParseError.Code.objectNotFound),
    (.alreadyExists, .duplicateValue), (.invalidArgument, .invalidValue),
    (.failedPrecondition, .operationForbidden), (.permissionDenied, .operationForbidden),
    (.deadlineExceeded, .timeout), (.cancelled, .unknownError), (.unknown, .unknownError),
    (.resourceExhausted, .exceededQuota), (.dataLoss, .internalServer),
    (.unavailable, .internalServer),
  ])
  func `an error of the database has a code of Parse`(
    _ code: FirestoreErrorCode.Code, _ expected: ParseError.Code
  ) {
    let error = ParseError(Self.error(code))
    #expect(error.code == expected && error.underlyingError != nil)
  }

  @Test func `a cancelled task is no timeout`() async {
    let task = Task {
      try await reporting {
        await untilCancelled()
        try Task.checkCancellation()
      }
    }
    task.cancel()
    let error = await #expect(throws: ParseError.self) { try await task.value }
    #expect(error?.code == .unknownError && error?.underlyingError is CancellationError)
    #expect(ParseError(CancellationError()).code == .unknownError)
  }

  /// Law: a code is made by a statement of the sources, or its documentation says that it is not.
  @Test func `the documentation of a code that nothing throws says so`() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/ParseSwift").standardized
    let files = try #require(
      FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
    var code = ""
    for case let file as URL in files where file.pathExtension == "swift" {
      code += try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        .filter { !$0.contains("///") }.joined(separator: "\n")
    }
    let declarations = try String(
      contentsOf: sources.appending(path: "ParseError.swift"), encoding: .utf8)
    var seen = 0
    for match in declarations.matches(of: /((?:    \/\/\/[^\n]*\n)+)    case (\w+) = -?\d+/) {
      let (comment, name) = (match.1, match.2)
      let isThrown = try code.contains(Regex("[ (]\\.\(name)\\b"))
      #expect(comment.contains("Never thrown here") == !isThrown, "\(name)")
      seen += 1
    }
    #expect(seen == 20)
  }
}
