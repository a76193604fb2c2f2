import FirebaseFirestore
import Testing

import class FirebaseCore.Timestamp

/// A file of an app that imports no more than this. Foundation comes with it.
struct DropInScopedTests {
  @Test func `one import is enough`() {
    let date = Date(timeIntervalSince1970: 1)
    #expect(Timestamp(date: date).dateValue() == date)
    let error = NSError(domain: FirestoreErrorDomain, code: FirestoreErrorCode.aborted.rawValue)
    #expect(FirestoreErrorCode.aborted ~= error)
  }
}
