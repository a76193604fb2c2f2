import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct FirestoreErrorsTests {
  private let missing: any Error =
    Status(.notFound, "No document to update: books/dune", cause: Status(.dataLoss, "below"))
    .nsError

  @Test func `an error is an NSError in every form of catch`() throws {
    let error = missing as NSError
    #expect(error.domain == "FIRFirestoreErrorDomain")
    #expect(error.domain == FirestoreErrorDomain)
    #expect(error.code == FirestoreErrorCode.notFound.rawValue)
    #expect(error.localizedDescription == "No document to update: books/dune")
    #expect(missing.localizedDescription == "No document to update: books/dune")
    let cause = try #require(error.userInfo[NSUnderlyingErrorKey] as? NSError)
    #expect(cause.code == FirestoreErrorCode.dataLoss.rawValue)
    do { throw missing } catch let error as NSError { #expect(error.code == 5) }
  }

  @Test func `an error prints its sentence`() throws {
    let sentence = "No document to update: books/dune"
    let plain = Status(.notFound, sentence).nsError
    let text = "Error Domain=FIRFirestoreErrorDomain Code=5 \"\(sentence)\""
    #expect("\(plain)" == text)
    #expect("\(plain as any Error)" == text)
    #expect(String(reflecting: plain as any Error) == text)
    #expect("\(try #require(plain as? FirestoreErrorCode))" == text)
    #expect((plain as any Error).localizedDescription == sentence)
    #expect("\(missing)".hasPrefix(text + " UserInfo={NSUnderlyingError=Error Domain="))
    let own = FirestoreErrorCode(.aborted, userInfo: [NSLocalizedDescriptionKey: "mine"])
    #expect("\(own)" == "Error Domain=FIRFirestoreErrorDomain Code=10 \"mine\"")
    #expect("\(own as NSError)" == "\(own)")
    // To others it is an `NSError` like any.
    let same = NSError(
      domain: FirestoreErrorDomain, code: 5, userInfo: [NSLocalizedDescriptionKey: sentence])
    #expect(plain == same)
    #expect(same == plain)
    #expect(Set([plain, Status(.notFound, sentence).nsError]).count == 1)
    let codes = try [plain, same].map { try #require($0 as any Error as? FirestoreErrorCode) }
    #expect(Set(codes).count == 1)
    let archive = try NSKeyedArchiver.archivedData(
      withRootObject: plain, requiringSecureCoding: true)
    let read = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSError.self, from: archive)
    #expect(read == plain)
  }

  @Test func `an underlying error of another kind is kept`() throws {
    let error = Status(.unavailable, "disk", cause: CocoaError(.fileNoSuchFile)).nsError
    #expect(error.userInfo[NSUnderlyingErrorKey] is CocoaError)
    #expect(Status(.unavailable, "disk").nsError.userInfo[NSUnderlyingErrorKey] == nil)
  }

  @Test func `a code catches its errors and no others`() {
    func name(_ error: any Error) -> String {
      do {
        throw error
      } catch FirestoreErrorCode.notFound {
        return "not found"
      } catch FirestoreErrorCode.aborted {
        return "aborted"
      } catch {
        return "other"
      }
    }
    #expect(name(missing) == "not found")
    #expect(name(Status(.aborted, "").nsError) == "aborted")
    #expect(name(Status(.unavailable, "").nsError) == "other")
    #expect(name(NSError(domain: "elsewhere", code: 5)) == "other")

    switch Status(.unavailable, "").nsError as any Error {
    case FirestoreErrorCode.unavailable: break
    default: Issue.record("A code does not match in a switch.")
    }
  }

  @Test func `an error is caught as the error code's own type`() {
    do {
      throw missing
    } catch let error as FirestoreErrorCode {
      #expect(error.code == .notFound)
      #expect(error.localizedDescription == "No document to update: books/dune")
      #expect(error.userInfo[NSUnderlyingErrorKey] != nil)
    } catch {
      Issue.record("It is caught as \(type(of: error)).")
    }
    #expect(NSError(domain: "elsewhere", code: 5) as any Error as? FirestoreErrorCode == nil)
  }

  @Test func `an error that users throw is one of ours`() {
    let error: any Error = FirestoreErrorCode(
      .aborted, userInfo: [NSLocalizedDescriptionKey: "mine"])
    #expect((error as NSError).domain == FirestoreErrorDomain)
    #expect((error as NSError).code == 10)
    #expect(error.localizedDescription == "mine")
    do { throw error } catch FirestoreErrorCode.aborted {} catch {
      Issue.record("A thrown code is not caught.")
    }
  }

  @Test func `raw values are those of gRPC`() {
    #expect(FirestoreErrorCode.Code(rawValue: 14) == .unavailable)
    #expect(FirestoreErrorCode.Code(rawValue: 17) == nil)
    #expect(FirestoreErrorCode.OK.rawValue == 0)
    let all: [FirestoreErrorCode.Code] = [
      FirestoreErrorCode.OK, FirestoreErrorCode.cancelled, FirestoreErrorCode.unknown,
      FirestoreErrorCode.invalidArgument, FirestoreErrorCode.deadlineExceeded,
      FirestoreErrorCode.notFound, FirestoreErrorCode.alreadyExists,
      FirestoreErrorCode.permissionDenied, FirestoreErrorCode.resourceExhausted,
      FirestoreErrorCode.failedPrecondition, FirestoreErrorCode.aborted,
      FirestoreErrorCode.outOfRange, FirestoreErrorCode.unimplemented, FirestoreErrorCode.internal,
      FirestoreErrorCode.unavailable, FirestoreErrorCode.dataLoss,
      FirestoreErrorCode.unauthenticated,
    ]
    #expect(all.map(\.rawValue) == Array(0...16))
    for code in all.dropFirst() {
      #expect(Status.Code(rawValue: code.rawValue).map { "\($0)" } == "\(code)")
    }
  }
}
