import Foundation
import Testing

@testable import Hearth
@testable import HearthEngine

struct OptionsTests {
  @Test func `raw values are those of Apple's enumerations`() {
    #expect([FirestoreSource.default, .server, .cache].map(\.rawValue) == [0, 1, 2])
    #expect([ListenSource.default, .cache].map(\.rawValue) == [0, 1])
    #expect(AggregateSource.server.rawValue == 0)
    #expect(
      [ServerTimestampBehavior.none, .estimate, .previous].map(\.rawValue) == [0, 1, 2])
    #expect([DocumentChangeType.added, .modified, .removed].map(\.rawValue) == [0, 1, 2])
    #expect([LoadBundleTaskState.error, .inProgress, .success].map(\.rawValue) == [0, 1, 2])
  }

  @Test func `metadata say that nothing is pending`() {
    let metadata = SnapshotMetadata.committed
    #expect(!metadata.hasPendingWrites && !metadata.isFromCache)
    #expect(metadata.description == "<SnapshotMetadata: hasPendingWrites=false isFromCache=false>")
  }

  @Test func `listen options are changed by making others`() {
    let options = SnapshotListenOptions()
    #expect(options.source == .default)
    #expect(!options.includeMetadataChanges)
    let both = options.withIncludeMetadataChanges(true).withSource(.cache)
    #expect(both.source == .cache)
    #expect(both.includeMetadataChanges)
    #expect(both == options.withSource(.cache).withIncludeMetadataChanges(true))
    #expect(both != options.withSource(.cache))
    let own = both.withOwnQueue(true)
    #expect(own.hasOwnQueue && !both.hasOwnQueue)
    #expect(own != both)
    #expect(own.withSource(.cache).withIncludeMetadataChanges(true).resuming(from: nil) == own)
    #expect(own.withOwnQueue(false) == both)
    #expect(options == SnapshotListenOptions())
    #expect(options.hash == SnapshotListenOptions().hash)
    #expect(!options.isEqual("options"))
  }

  @Test(arguments: [0, -1, Int(Int32.max) + 1, .min, .max])
  func `a number of attempts that makes no sense is remembered as a fault`(attempts: Int) {
    let options = TransactionOptions()
    #expect(options.maxAttempts == 5)
    #expect(options.validationError == nil)
    options.maxAttempts = attempts
    #expect(options.validationError?.message == "Invalid maxAttempts: \(attempts)")
    #expect(options.validationError?.code == .invalidArgument)
  }

  @Test func `transaction options are copied`() throws {
    let options = TransactionOptions()
    options.maxAttempts = 7
    let copy = try #require(options.copy() as? TransactionOptions)
    #expect(copy == options)
    #expect(copy.hash == options.hash)
    copy.maxAttempts = 8
    #expect(options.maxAttempts == 7)
    #expect(copy != options)
  }

  @Test func `a block puts its error where the pointer points`() {
    func run(_ block: (NSErrorPointer) -> Any?) -> NSError? {
      var error: NSError?
      _ = withUnsafeMutablePointer(to: &error) { block($0) }
      return error
    }
    let error = run { errorPointer in
      errorPointer?.pointee = NSError(domain: "mine", code: 1)
      return nil
    }
    #expect(error?.domain == "mine")
    #expect(run { _ in nil } == nil)
  }
}
