import Foundation

/// Most writes have three forms: one that returns before the commit, one that also calls a completion handler after
/// it, and one that is awaited. Those from Codable values have another label where they are awaited, `encoding`;
/// those with a precondition are awaited only.
///
/// What was acknowledged is as durable as `FirestoreSettings.durability` says. An awaited write, and a completion
/// handler, come after the callbacks of this process's listeners that the write concerns have returned, but wait for
/// none longer than 100 ms; see <doc:WritesAndListeners>. A read of this process that begins after one of these calls
/// has returned sees the write.
///
/// Without `await`, the data that waits for the commit counts towards `FirestoreSettings.queueLimitBytes`, beyond
/// which the write fails with `resourceExhausted`. Its failure goes to the completion handler, or else to
/// `Firestore.unobservedWriteFailureHandler`.
extension DocumentReference {
  // MARK: Set

  /// Replaces the document, or makes it.
  public func setData(_ data: [String: Any]) {
    submit(try set(data, merge: nil))
  }

  public func setData(
    _ data: [String: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try set(data, merge: nil), isolation, completion)
  }

  /// Replaces the document, or makes it, and returns when it is durable.
  ///
  ///     try await dune.setData(["title": "Dune", "pages": 412])
  ///
  /// Throws `invalidArgument` for data that cannot be stored, with nothing applied.
  public func setData(_ data: [String: Any]) async throws {
    try await commit(set(data, merge: nil))
  }

  /// Merges into the document: maps field by field, everything else as a whole.
  public func setData(_ data: [String: Any], merge: Bool) {
    submit(try set(data, merge: merge ? .all : nil))
  }

  public func setData(
    _ data: [String: Any], merge: Bool, isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try set(data, merge: merge ? .all : nil), isolation, completion)
  }

  public func setData(_ data: [String: Any], merge: Bool) async throws {
    try await commit(set(data, merge: merge ? .all : nil))
  }

  /// Merges only these fields, strings or `FieldPath`s; each must be in the data.
  public func setData(_ data: [String: Any], mergeFields: [Any]) {
    submit(try set(data, merge: .fields(mergeFields)))
  }

  public func setData(
    _ data: [String: Any], mergeFields: [Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try set(data, merge: .fields(mergeFields)), isolation, completion)
  }

  public func setData(_ data: [String: Any], mergeFields: [Any]) async throws {
    try await commit(set(data, merge: .fields(mergeFields)))
  }

  // MARK: Set, from Codable

  /// Replaces the document with an encoded value, and returns before the commit. Throws if the value cannot be
  /// encoded; any other failure goes to `completion`.
  ///
  ///     try dune.setData(from: book)
  public func setData<T: Encodable>(
    from value: T, encoder: Firestore.Encoder = Firestore.Encoder(),
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws {
    try submitEncoded(value, encoder, merge: nil, isolation, completion)
  }

  public func setData<T: Encodable>(
    from value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder(),
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws {
    try submitEncoded(value, encoder, merge: merge ? .all : nil, isolation, completion)
  }

  public func setData<T: Encodable>(
    from value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder(),
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)? = nil
  ) throws {
    try submitEncoded(value, encoder, merge: .fields(mergeFields), isolation, completion)
  }

  // The forms that wait have a label of their own: an `async` form of `setData(from:)` would be chosen
  // in every async function, where existing source has `try` without `await`.

  /// Replaces the document with an encoded value, and returns when it is durable.
  ///
  ///     try await dune.setData(encoding: book)
  ///
  /// Throws if the value cannot be encoded or stored, with nothing applied.
  public func setData<T: Encodable>(
    encoding value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await commitEncoded(value, encoder, merge: nil)
  }

  /// Merges an encoded value into the document, and returns when it is durable.
  public func setData<T: Encodable>(
    encoding value: T, merge: Bool, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await commitEncoded(value, encoder, merge: merge ? .all : nil)
  }

  /// Merges these fields of an encoded value, strings or `FieldPath`s, and returns when it is durable.
  public func setData<T: Encodable>(
    encoding value: T, mergeFields: [Any], encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await commitEncoded(value, encoder, merge: .fields(mergeFields))
  }

  // MARK: Update and delete

  /// Changes fields of a document that exists; `notFound` otherwise. Keys are strings, whose dots lead
  /// into maps, or `FieldPath`s.
  public func updateData(_ fields: [AnyHashable: Any]) {
    submit(try update(fields))
  }

  public func updateData(
    _ fields: [AnyHashable: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try update(fields), isolation, completion)
  }

  public func updateData(_ fields: [AnyHashable: Any]) async throws {
    try await commit(update(fields))
  }

  /// Deletes the document, if it exists. Collections below it stay.
  public func delete() {
    submit(try deletion())
  }

  public func delete(
    isolation: isolated (any Actor)? = #isolation, completion: ((Error?) -> Void)?
  ) {
    submit(try deletion(), isolation, completion)
  }

  public func delete() async throws {
    try await commit(deletion())
  }

  // MARK: With conditions

  /// Makes the document; `alreadyExists` if it is there.
  ///
  ///     try await dune.create(["title": "Dune", "pages": 412])
  public func create(_ data: [String: Any]) {
    submit(try creation(data))
  }

  public func create(
    _ data: [String: Any], isolation: isolated (any Actor)? = #isolation,
    completion: ((Error?) -> Void)?
  ) {
    submit(try creation(data), isolation, completion)
  }

  public func create(_ data: [String: Any]) async throws {
    try await commit(creation(data))
  }

  /// Makes the document from an encoded value, and returns when it is durable; `alreadyExists` if it is
  /// there.
  public func create<T: Encodable>(
    encoding value: T, encoder: Firestore.Encoder = Firestore.Encoder()
  ) async throws {
    try await commit(Self.planned(set(encoder.encodeDocument(value), merge: nil)) { $0.creating() })
  }

  /// Replaces the document, or makes it, if `precondition` holds.
  public func setData(
    _ data: [String: Any], precondition: WritePrecondition
  ) async throws {
    try await commit(Self.planned(set(data, merge: nil)) { try $0.requiring(precondition) })
  }

  /// Changes fields of the document if `precondition` holds.
  ///
  ///     let dune = try await reference.getDocument()
  ///     guard let time = dune.updateTime else { return }
  ///     try await reference.updateData(["pages": 412], precondition: .lastUpdateTime(time))
  public func updateData(
    _ fields: [AnyHashable: Any], precondition: WritePrecondition
  ) async throws {
    try await commit(Self.planned(update(fields)) { try $0.requiring(precondition) })
  }

  /// Deletes the document if `precondition` holds.
  public func delete(precondition: WritePrecondition) async throws {
    try await commit(Self.planned(deletion()) { try $0.requiring(precondition) })
  }

  private func creation(_ data: [String: Any]) throws -> Planned {
    try Self.planned(set(data, merge: nil)) { $0.creating() }
  }

  private static func planned(
    _ planned: Planned, _ change: (Mutation) throws -> Mutation
  ) throws -> Planned {
    (planned.database, try change(planned.mutation))
  }

  // MARK: Mutations

  private typealias Planned = (database: Database, mutation: Mutation)

  private func set(_ data: [String: Any], merge: ParsedWrite.Merge?) throws -> Planned {
    let database = try resolved()
    let parsed = try ParsedWrite(set: data, merge: merge, database: databaseIdentity)
    return (database, try Mutation(setting: resourcePath, to: parsed))
  }

  private func update(_ fields: [AnyHashable: Any]) throws -> Planned {
    let database = try resolved()
    let parsed = try ParsedWrite(update: fields, database: databaseIdentity)
    var mutation = try Mutation(setting: resourcePath, to: parsed)
    mutation.precondition = .exists(true)
    return (database, mutation)
  }

  private func deletion() throws -> Planned {
    let database = try resolved()
    return (database, Mutation(path: resourcePath, operation: .delete))
  }

  /// Errors of the coder are thrown as they are, all others reported like any failure of the write.
  private func submitEncoded<T: Encodable>(
    _ value: T, _ encoder: Firestore.Encoder, merge: ParsedWrite.Merge?, _ actor: (any Actor)?,
    _ completion: ((Error?) -> Void)?
  ) throws {
    let encoded: EncodedDocument
    do {
      encoded = try encoder.encodeDocument(value)
    } catch let status as Status {
      throw status.nsError
    }
    submit(try set(encoded, merge: merge), actor, completion)
  }

  private func commitEncoded<T: Encodable>(
    _ value: T, _ encoder: Firestore.Encoder, merge: ParsedWrite.Merge?
  ) async throws {
    try await commit(set(encoder.encodeDocument(value), merge: merge))
  }

  private func set(_ encoded: EncodedDocument, merge: ParsedWrite.Merge?) throws -> Planned {
    let database = try resolved()
    try encoded.check(for: databaseIdentity)
    return (database, try Mutation(setting: resourcePath, to: encoded, merge: merge))
  }

  // MARK: Handing over

  private func submit(_ make: @autoclosure () throws -> Planned) {
    let firestore = firestore
    submit(make) { if let error = $0 { firestore.reportUnobserved(error) } }
  }

  private func submit(
    _ make: @autoclosure () throws -> Planned, _ actor: (any Actor)?,
    _ completion: ((Error?) -> Void)?
  ) {
    guard let completion else { return submit(try make()) }
    let courier = firestore.courier(actor)
    let callback = Callback<NSError?> { completion($0) }
    submit(make, tellsListenersFirst: true) { courier.carry($0?.nsError, to: callback) }
  }

  private func submit(
    _ make: () throws -> Planned, tellsListenersFirst: Bool = false,
    told: @escaping @Sendable (Status?) -> Void
  ) {
    do {
      let (database, mutation) = try make()
      database.backend.submit([mutation], tellsListenersFirst: tellsListenersFirst, told)
    } catch {
      told(error as? Status ?? Status(.unknown, "The write failed.", cause: error))
    }
  }

  private func commit(
    _ make: @autoclosure () throws -> Planned
  ) async throws {
    do {
      let (database, mutation) = try make()
      try await database.backend.commit([mutation])
    } catch let status as Status {
      throw status.nsError
    }
  }
}

extension Mutation {
  init(setting path: ResourcePath, to parsed: ParsedWrite) throws(Status) {
    self.init(
      path: path,
      operation: try Self.operation(parsed),
      transforms: parsed.transforms)
  }

  init(
    setting path: ResourcePath, to encoded: EncodedDocument, merge: ParsedWrite.Merge?
  ) throws(Status) {
    let hasDeletes = encoded.transforms.contains { transform in
      if case .delete = transform.transform { true } else { false }
    }
    guard merge == nil, !hasDeletes else {
      let parsed = try ParsedWrite(
        encoded: encoded.body.map(), sentinels: encoded.transforms, merge: merge)
      try self.init(setting: path, to: parsed)
      return
    }
    // The ordinary case: the bytes go on as they were encoded.
    self.init(path: path, operation: .set(encoded.body), transforms: encoded.transforms)
  }

  private static func operation(_ parsed: ParsedWrite) throws(Status) -> Operation {
    if let mask = parsed.mask { return .patch(parsed.body, mask: mask) }
    return try .set(encoding: parsed.body)
  }
}

extension EncodedDocument {
  /// Throws what keeps this from being stored in `database`.
  func check(for database: DatabaseIdentity) throws(Status) {
    if let fault { throw fault }
    for foreign in databases where foreign != database {
      throw .invalidArgument(
        "Document Reference is for database \(foreign.name) but should be for database "
          + database.name)
    }
  }
}
