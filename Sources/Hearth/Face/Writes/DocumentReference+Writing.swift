import Foundation

/// Most writes have three forms: one returns before the commit, one also calls a completion handler
/// after the commit, and one is awaited. The awaited form of a write from a Codable value has the
/// label `committing`. A write with a precondition has only the awaited form.
///
/// An acknowledged write is as durable as `FirestoreSettings.durability` says. An awaited write and
/// a completion handler wait for the callbacks of this process's listeners whose results the write
/// changes, but for none of them longer than 100 ms; see <doc:WritesAndListeners>. A read of this
/// process that begins after one of these calls has returned sees the write.
///
/// Without `await`, the data that waits for the commit counts towards
/// `FirestoreSettings.queueLimitBytes`. Beyond that limit the write fails with `resourceExhausted`.
/// A failure goes to the completion handler or, if there is none, to
/// `Firestore.unobservedWriteFailureHandler`.
extension DocumentReference {
  // MARK: Set

  /// Replaces the document, or creates it. Returns before the commit.
  public func setData(_ data: [String: Any]) {
    submit(try Mutation(setting: self, to: data, in: firestore))
  }

  /// Replaces the document, or creates it, and calls `completion` after the commit or with an
  /// error.
  public func setData(
    _ data: [String: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try Mutation(setting: self, to: data, in: firestore), isolation, completion)
  }

  /// Replaces the document, or creates it, and returns when it is durable.
  ///
  ///     try await dune.setData(["title": "Dune", "pages": 412])
  ///
  /// Throws `invalidArgument` for data that cannot be stored; nothing is applied then.
  public func setData(_ data: [String: Any]) async throws {
    try await commit(Mutation(setting: self, to: data, in: firestore))
  }

  /// Merges `data` into the document, or creates it. Maps are merged field by field; other values
  /// are replaced. Returns before the commit.
  ///
  /// If `merge` is false, replaces the document.
  public func setData(_ data: [String: Any], merge: Bool) {
    submit(try Mutation(setting: self, to: data, merge: merge ? .all : nil, in: firestore))
  }

  /// Merges `data` into the document if `merge` is true, else replaces it. Calls `completion` after
  /// the commit or with an error.
  public func setData(
    _ data: [String: Any], merge: Bool, isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(
      try Mutation(setting: self, to: data, merge: merge ? .all : nil, in: firestore), isolation,
      completion)
  }

  /// Merges `data` into the document if `merge` is true, else replaces it. Returns when it is
  /// durable.
  public func setData(_ data: [String: Any], merge: Bool) async throws {
    try await commit(Mutation(setting: self, to: data, merge: merge ? .all : nil, in: firestore))
  }

  /// Merges only the fields in `mergeFields` into the document, or creates it. Each is a string or
  /// a `FieldPath`, and must be in the data. Returns before the commit.
  public func setData(_ data: [String: Any], mergeFields: [Any]) {
    submit(try Mutation(setting: self, to: data, merge: .fields(mergeFields), in: firestore))
  }

  /// Merges only the fields in `mergeFields`, and calls `completion` after the commit or with an
  /// error.
  public func setData(
    _ data: [String: Any], mergeFields: [Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(
      try Mutation(setting: self, to: data, merge: .fields(mergeFields), in: firestore), isolation,
      completion)
  }

  /// Merges only the fields in `mergeFields`, and returns when it is durable.
  ///
  /// Throws `invalidArgument` if one of the fields is not in the data.
  public func setData(_ data: [String: Any], mergeFields: [Any]) async throws {
    try await commit(Mutation(setting: self, to: data, merge: .fields(mergeFields), in: firestore))
  }

  // MARK: Set, from Codable

  /// Replaces the document with an encoded value, or creates it. Returns before the commit. Throws
  /// if the value cannot be encoded; any other failure goes to `completion`.
  ///
  ///     try dune.setData(from: book)
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = .standard,
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws {
    try submitEncoded(value, encoder, merge: nil, isolation, completion)
  }

  /// Merges an encoded value into the document if `merge` is true, else replaces it. Returns before
  /// the commit. Throws if the value cannot be encoded; any other failure goes to `completion`.
  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = .standard,
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws {
    try submitEncoded(value, encoder, merge: merge ? .all : nil, isolation, completion)
  }

  /// Merges only the fields in `mergeFields` of an encoded value, and returns before the commit.
  /// Throws if the value cannot be encoded; any other failure goes to `completion`.
  public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = .standard,
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws {
    try submitEncoded(value, encoder, merge: .fields(mergeFields), isolation, completion)
  }

  // The awaited forms have their own label: Swift would choose an `async` form of `setData(from:)`
  // in every async function, where existing source has `try` without `await`.

  /// Replaces the document with an encoded value, or creates it, and returns when it is durable.
  ///
  ///     try await dune.setData(committing: book)
  ///
  /// Throws if the value cannot be encoded or stored; nothing is applied then.
  public func setData<T: Encodable>(
    committing value: T, encoder: Firestore.Encoder = .standard
  ) async throws {
    try await commit(Mutation(setting: self, to: encoder.encodeDocument(value), in: firestore))
  }

  /// Merges an encoded value into the document if `merge` is true, else replaces it. Returns when
  /// it is durable.
  public func setData<T: Encodable>(
    committing value: T, merge: Bool, encoder: Firestore.Encoder = .standard
  ) async throws {
    try await commit(
      Mutation(
        setting: self, to: encoder.encodeDocument(value), merge: merge ? .all : nil, in: firestore))
  }

  /// Merges only the fields in `mergeFields` of an encoded value, and returns when it is durable.
  /// Each is a string or a `FieldPath`.
  public func setData<T: Encodable>(
    committing value: T, mergeFields: [Any], encoder: Firestore.Encoder = .standard
  ) async throws {
    try await commit(
      Mutation(
        setting: self, to: encoder.encodeDocument(value), merge: .fields(mergeFields),
        in: firestore))
  }

  // MARK: Update and delete

  /// Updates fields of an existing document. Returns before the commit.
  ///
  /// Keys are strings, whose dots lead into maps, or `FieldPath`s. Fails with `notFound` if the
  /// document does not exist.
  public func updateData(_ fields: [AnyHashable: Any]) {
    submit(try Mutation(updating: self, with: fields, in: firestore))
  }

  /// Updates fields of an existing document, and calls `completion` after the commit or with an
  /// error.
  public func updateData(
    _ fields: [AnyHashable: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try Mutation(updating: self, with: fields, in: firestore), isolation, completion)
  }

  /// Updates fields of an existing document, and returns when it is durable.
  ///
  /// Throws `notFound` if the document does not exist, and `invalidArgument` for data that cannot
  /// be stored; nothing is applied then.
  public func updateData(_ fields: [AnyHashable: Any]) async throws {
    try await commit(Mutation(updating: self, with: fields, in: firestore))
  }

  /// Deletes the document, if it exists. Collections below it stay. Returns before the commit.
  public func delete() {
    submit(try Mutation(deleting: self, in: firestore))
  }

  /// Deletes the document, if it exists, and calls `completion` after the commit or with an error.
  public func delete(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)?
  ) {
    submit(try Mutation(deleting: self, in: firestore), isolation, completion)
  }

  /// Deletes the document, if it exists, and returns when that is durable. Collections below it
  /// stay.
  public func delete() async throws {
    try await commit(Mutation(deleting: self, in: firestore))
  }

  // MARK: With conditions

  /// Creates the document. Returns before the commit. Fails with `alreadyExists` if the document
  /// exists.
  public func create(_ data: [String: Any]) {
    submit(try Mutation(setting: self, to: data, in: firestore).creating())
  }

  /// Creates the document, and calls `completion` after the commit or with an error.
  public func create(
    _ data: [String: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try Mutation(setting: self, to: data, in: firestore).creating(), isolation, completion)
  }

  /// Creates the document, and returns when it is durable.
  ///
  ///     try await dune.create(["title": "Dune", "pages": 412])
  ///
  /// Throws `alreadyExists` if the document exists.
  public func create(_ data: [String: Any]) async throws {
    try await commit(Mutation(setting: self, to: data, in: firestore).creating())
  }

  /// Creates the document from an encoded value, and returns when it is durable. Throws
  /// `alreadyExists` if the document exists.
  public func create<T: Encodable>(
    committing value: T, encoder: Firestore.Encoder = .standard
  ) async throws {
    try await commit(
      Mutation(setting: self, to: encoder.encodeDocument(value), in: firestore).creating())
  }

  /// Replaces the document, or creates it, if `precondition` holds. Otherwise throws; see
  /// `WritePrecondition`.
  public func setData(
    _ data: [String: Any], precondition: WritePrecondition
  ) async throws {
    try await commit(Mutation(setting: self, to: data, in: firestore).requiring(precondition))
  }

  /// Updates fields of the document if `precondition` holds. Otherwise throws; see
  /// `WritePrecondition`.
  ///
  ///     let dune = try await reference.getDocument()
  ///     guard let time = dune.updateTime else { return }
  ///     try await reference.updateData(["pages": 412], precondition: .lastUpdateTime(time))
  public func updateData(
    _ fields: [AnyHashable: Any], precondition: WritePrecondition
  ) async throws {
    try await commit(Mutation(updating: self, with: fields, in: firestore).requiring(precondition))
  }

  /// Deletes the document if `precondition` holds. Otherwise throws; see `WritePrecondition`.
  public func delete(precondition: WritePrecondition) async throws {
    try await commit(Mutation(deleting: self, in: firestore).requiring(precondition))
  }

  /// Throws the coder's errors unchanged, and reports all other errors as failures of the write.
  private func submitEncoded<T: Encodable>(
    _ value: T, _ encoder: Firestore.Encoder, merge: ParsedWrite.Merge?, _ actor: (any Actor)?,
    _ completion: ((Error?) -> Void)?
  ) throws {
    let encoded = try encoder.encodedForWriting(value)
    submit(try Mutation(setting: self, to: encoded, merge: merge, in: firestore), actor, completion)
  }

  // MARK: Handing over

  private func submit(
    _ make: @autoclosure () throws -> Mutation, _ actor: (any Actor)? = nil,
    _ completion: ((Error?) -> Void)? = nil
  ) {
    let done = firestore.writeHandler(actor, completion)
    do {
      let mutation = try make()
      try firestore.database().backend.submit(
        [mutation], completesAfterListeners: completion != nil, done)
    } catch {
      done(Status(writingFailed: error))
    }
  }

  private func commit(
    _ make: @autoclosure () throws -> Mutation
  ) async throws {
    try await reporting {
      let mutation = try make()
      try await firestore.database().backend.commit([mutation])
    }
  }
}
