import Foundation
import Synchronization

/// Several writes that are committed together, or not at all.
///
///     let batch = db.batch()
///     batch.setData(["title": "Dune"], forDocument: dune)
///     batch.deleteDocument(draft)
///     try await batch.commit()
///
/// Writes are applied in order; the same document may be written several times. What is wrong with one of
/// them is remembered and reported by `commit`, with nothing applied. Listeners receive the batch as one commit.
public final class WriteBatch: NSObject {
  private let firestore: Firestore
  private var writes = PlannedWrites()
  private var isCommitted = false

  init(_ firestore: Firestore) { self.firestore = firestore }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> WriteBatch {
    add { try $0.add(Mutation(setting: document, to: data, in: self.firestore)) }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, merge: Bool
  ) -> WriteBatch {
    add {
      try $0.add(
        Mutation(setting: document, to: data, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference, mergeFields: [Any]
  ) -> WriteBatch {
    add {
      try $0.add(
        Mutation(setting: document, to: data, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  /// Throws if `value` cannot be encoded; everything else is reported by `commit`.
  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let encoded = try encoder.encodedForWriting(value)
    return add { try $0.add(Mutation(setting: document, to: encoded, in: self.firestore)) }
  }

  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, merge: Bool,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let encoded = try encoder.encodedForWriting(value)
    return add {
      try $0.add(
        Mutation(setting: document, to: encoded, merge: merge ? .all : nil, in: self.firestore))
    }
  }

  @discardableResult
  public func setData<T: Encodable>(
    from value: T, forDocument document: DocumentReference, mergeFields: [Any],
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let encoded = try encoder.encodedForWriting(value)
    return add {
      try $0.add(
        Mutation(
          setting: document, to: encoded, merge: .fields(mergeFields), in: self.firestore))
    }
  }

  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference
  ) -> WriteBatch {
    add { try $0.add(Mutation(updating: document, with: fields, in: self.firestore)) }
  }

  @discardableResult
  public func deleteDocument(_ document: DocumentReference) -> WriteBatch {
    add { try $0.add(Mutation(deleting: document, in: self.firestore)) }
  }

  // MARK: With conditions

  /// Makes the document; the batch fails with `alreadyExists` if it is there.
  @discardableResult
  public func create(
    _ data: [String: Any], forDocument document: DocumentReference
  ) -> WriteBatch {
    add { try $0.add(Mutation(setting: document, to: data, in: self.firestore).creating()) }
  }

  /// Throws if `value` cannot be encoded; everything else is reported by `commit`.
  @discardableResult
  public func create<T: Encodable>(
    from value: T, forDocument document: DocumentReference,
    encoder: Firestore.Encoder = Firestore.Encoder()
  ) throws -> WriteBatch {
    let encoded = try encoder.encodedForWriting(value)
    return add {
      try $0.add(Mutation(setting: document, to: encoded, in: self.firestore).creating())
    }
  }

  @discardableResult
  public func setData(
    _ data: [String: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> WriteBatch {
    add {
      try $0.add(
        Mutation(setting: document, to: data, in: self.firestore).requiring(precondition))
    }
  }

  @discardableResult
  public func updateData(
    _ fields: [AnyHashable: Any], forDocument document: DocumentReference,
    precondition: WritePrecondition
  ) -> WriteBatch {
    add {
      try $0.add(
        Mutation(updating: document, with: fields, in: self.firestore).requiring(precondition))
    }
  }

  @discardableResult
  public func deleteDocument(
    _ document: DocumentReference, precondition: WritePrecondition
  ) -> WriteBatch {
    add { try $0.add(Mutation(deleting: document, in: self.firestore).requiring(precondition)) }
  }

  private func add(_ write: (inout PlannedWrites) throws -> Void) -> WriteBatch {
    if isCommitted {
      writes.note(.batchIsCommitted)
    } else {
      writes.add(write)
    }
    return self
  }

  // MARK: Committing

  /// Hands the batch over and returns before the commit; reads of this process that begin later see it. Waits for no
  /// listener. Counts towards `FirestoreSettings.queueLimitBytes`.
  public func commit() {
    let firestore = firestore
    submit { if let status = $0 { firestore.reportUnobserved(status) } }
  }

  /// As `commit()`. `completion` is called when the batch is durable, and the callbacks of this process's listeners
  /// that it concerns have returned or 100 ms have passed; see <doc:WritesAndListeners>.
  public func commit(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)?
  ) {
    guard let completion else { return commit() }
    let courier = firestore.courier(isolation)
    let callback = Callback<NSError?> { completion($0) }
    submit(tellsListenersFirst: true) { courier.carry($0?.nsError, to: callback) }
  }

  /// Commits the batch, and returns when it is durable, and the callbacks of this process's listeners that it
  /// concerns have returned or 100 ms have passed; see <doc:WritesAndListeners>.
  ///
  /// Throws `failedPrecondition` after `terminate` and for a second commit, also if the batch has no writes.
  public func commit() async throws {
    do {
      let mutations = try take()
      // Also for a batch without writes, which a terminated database refuses too.
      let database = try firestore.database()
      guard !mutations.isEmpty else { return }
      try await database.backend.commit(mutations, areChecked: true)
    } catch let status as Status {
      throw status.nsError
    }
  }

  private func submit(
    tellsListenersFirst: Bool = false, _ told: @escaping @Sendable (Status?) -> Void
  ) {
    do {
      let mutations = try take()
      let database = try firestore.database()
      guard !mutations.isEmpty else { return told(nil) }
      database.backend.submit(
        mutations, areChecked: true, tellsListenersFirst: tellsListenersFirst, told)
    } catch {
      told(error as? Status ?? Status(.unknown, "The commit failed.", cause: error))
    }
  }

  /// As `take()`; the batch has to be one of this database.
  func take(in firestore: Firestore) throws -> [Mutation] {
    guard self.firestore === firestore else {
      throw Status.invalidArgument(
        "Provided write batch is from a different Cloud Firestore instance.")
    }
    return try take()
  }

  private func take() throws -> [Mutation] {
    if isCommitted { throw Status.batchIsCommitted }
    isCommitted = true
    return try writes.checked()
  }
}

extension Status {
  fileprivate static let batchIsCommitted = Status(
    .failedPrecondition, "A write batch can no longer be used after commit has been called.")
}

/// Writes on their way into a batch or a transaction, and the first thing that is wrong with them.
struct PlannedWrites {
  private(set) var mutations: [Mutation] = []
  private var fault: Status?

  /// The writes, each of them checked; throws what is wrong with them.
  func checked() throws(Status) -> [Mutation] {
    if let fault { throw fault }
    return mutations
  }

  mutating func note(_ status: Status) { fault = fault ?? status }

  mutating func add(_ write: (inout PlannedWrites) throws -> Void) {
    do {
      try write(&self)
    } catch {
      note(error as? Status ?? Status(.unknown, "The write failed.", cause: error))
    }
  }

  mutating func add(_ mutation: Mutation) throws(Status) {
    try mutation.check()
    mutations.append(mutation)
  }
}

extension FirebaseDataEncoder {
  /// The value's bytes. Errors of the engine are thrown as users catch them.
  func encodedForWriting<T: Encodable>(_ value: T) throws -> EncodedDocument {
    do {
      return try encodeDocument(value)
    } catch let status as Status {
      throw status.nsError
    }
  }
}
