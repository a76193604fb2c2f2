import Foundation

/// The options of a transaction.
public final class TransactionOptions: NSObject, NSCopying {
  /// The maximum number of attempts: 1...2,147,483,647, otherwise the transaction fails with
  /// `invalidArgument`.
  ///
  /// The fifth attempt, and each later one, holds the file's write lock while the block runs, for
  /// at most one second. With a maximum below five, no attempt holds the lock.
  public var maxAttempts = 5

  public override init() {}

  var validationError: Status? {
    (1...Int(Int32.max)).contains(maxAttempts)
      ? nil : .invalidArgument("Invalid maxAttempts: \(maxAttempts)")
  }

  public func copy(with zone: NSZone? = nil) -> Any {
    let copy = TransactionOptions()
    copy.maxAttempts = maxAttempts
    return copy
  }

  /// Whether the other object is options with the same number of attempts.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? TransactionOptions)?.maxAttempts == maxAttempts
  }

  public override var hash: Int { maxAttempts }
}

#if !canImport(ObjectiveC)
  /// Receives the error of a transaction's block: `errorPointer?.pointee = error`.
  public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?
#endif
