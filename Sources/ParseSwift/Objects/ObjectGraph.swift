import Foundation
import Hearth

/// The writes that save an object with every unsaved object below it, in one commit.
///
///     Book ─┬─ isbn: unsaved ─▶ create ISBN/…          1
///           ├─ genre: saved  ─▶ (a reference only)
///           └────────────────▶ create Book/…           2
///
/// Children come before their parents. An object of a class, and an object with an id, is one object
/// wherever it is; each unsaved structure is an object of its own, also if it equals another.
final class ObjectGraph {
  private enum Change {
    case create([String: Any])
    case update(EncodedUpdate)
    case nothing
  }

  private struct Entry {
    var reference: DocumentReference
    var object: any ParseObject
    var change: Change
  }

  /// The treatment of an object that has an id.
  enum Mode {
    /// Properties that differ from what was read are written.
    case save
    /// It is new.
    case create
    /// All properties are written, and those that are nil are removed.
    case replace
  }

  let firestore: Firestore
  private let encoder = Firestore.Encoder()
  private var entries: [Entry] = []
  /// Of unsaved objects of classes.
  private var references: [ObjectIdentifier: DocumentReference] = [:]
  /// Those that were added, or are being added: one may refer to itself.
  private var begun: Set<ObjectIdentifier> = []
  /// Saved objects that others refer to.
  private var known: [String: any ParseObject] = [:]
  /// The objects of classes that earlier commits created, as they are stored.
  private var earlier: [String: any ParseObject] = [:]
  /// The files to store with the objects.
  private(set) var files: [ParseFile] = []
  /// The unsaved objects and files in the value that is being encoded. They are added afterwards.
  private var children: [(reference: DocumentReference, object: any ParseObject)] = []
  private var newFiles: [ParseFile] = []
  /// The first error of a value in it. A type may catch the error, and leave the value out.
  private var failure: (any Error)?

  /// Properties that a save does not write as they are.
  private static let own: Set<String> = ["objectId", "createdAt", "updatedAt", "originalData"]

  init(_ firestore: Firestore) {
    self.firestore = firestore
    encoder.replacement = { [unowned self] value in
      do { return try storedForm(of: value) } catch {
        failure = failure ?? error
        throw error
      }
    }
  }

  /// Another commit after those of `graph`: what they created exists.
  convenience init(after graph: ObjectGraph) {
    self.init(graph.firestore)
    references = graph.references
    begun = graph.begun
    earlier = graph.earlier
  }

  /// Keeps the objects of the commit as they are stored, for commits after it.
  func keep(_ results: [String: Result<any ParseObject, any Error>]) {
    for entry in entries where Self.instance(entry.object) != nil {
      let path = entry.reference.path
      if case .success(let object)? = results[path] { earlier[path] = object }
    }
  }

  // MARK: Collecting

  /// Adds an object that is saved itself. Returns its document.
  @discardableResult
  func add(
    _ object: some ParseObject, _ mode: ObjectGraph.Mode = .save
  ) throws -> DocumentReference {
    guard let id = object.objectId else {
      if mode == .replace {
        throw ParseError(.missingObjectId, "The object was not saved: there is none to replace.")
      }
      return try create(object)
    }
    let reference = try Self.reference(type(of: object), id, in: firestore)
    if mode == .create { return try create(object, at: reference) }
    let change = try changes(of: object, reference, writesAll: mode == .replace)
    entries.append(Entry(reference: reference, object: object, change: change))
    return reference
  }

  private func create(
    _ object: some ParseObject, at reference: DocumentReference? = nil
  ) throws -> DocumentReference {
    let reference = try document(of: object, at: reference)
    try addNew(object, at: reference)
    return reference
  }

  /// The document of an unsaved object, which is still to be added.
  private func document(
    of object: some ParseObject, at reference: DocumentReference? = nil
  ) throws -> DocumentReference {
    let instance = Self.instance(object)
    if let reference = instance.flatMap({ references[$0] }) {
      if let saved = earlier[reference.path] { known[reference.path] = saved }
      return reference
    }
    let reference =
      try reference
      ?? firestore.collection(Self.collection(type(of: object))).document(ObjectID.next())
    // Before its children: one of them may refer to it.
    if let instance { references[instance] = reference }
    return reference
  }

  /// Adds an object of a class once.
  private func addNew(_ object: some ParseObject, at reference: DocumentReference) throws {
    if let instance = Self.instance(object), !begun.insert(instance).inserted { return }
    var fields = try stored(object)
    for name in Self.own { fields[name] = nil }
    if fields["ACL"] == nil, let acl = ParseACL.defaultACL(in: firestore) {
      fields["ACL"] = acl.json
    }
    fields["createdAt"] = FieldValue.serverTimestamp()
    fields["updatedAt"] = FieldValue.serverTimestamp()
    entries.append(Entry(reference: reference, object: object, change: .create(fields)))
  }

  /// Nil for a structure.
  private static func instance(_ object: some ParseObject) -> ObjectIdentifier? {
    type(of: object) is AnyClass ? ObjectIdentifier(object as AnyObject) : nil
  }

  /// The fields that differ from those that were read; without those, all that are not nil.
  private func changes<T: ParseObject>(
    of object: T, _ reference: DocumentReference, writesAll: Bool
  ) throws -> Change {
    let types = FieldNames.types(of: T.self)
    let fields = try encoding(object, EncodedFields.init(of:by:))
    let original =
      writesAll ? nil : try object.originalData.map { try reference.snapshot(ofEncodedFields: $0) }
    let read = EncodedFields(of: original)
    func differences(from other: EncodedFields) throws -> [String] {
      let found = try fields.differences(from: other) {
        if case .array(_, isSet: true)? = types[$0].map(PropertyKind.init) { true } else { false }
      }
      return (found.changed + found.missing.filter { types[$0] != nil })
        .filter { !Self.own.contains($0) }
    }
    var names =
      try writesAll ? types.keys.filter { !Self.own.contains($0) } : differences(from: read)
    if names.isEmpty { return .nothing }
    var known: EncodedFields?
    if let original {
      // Decoding and encoding is not the identity: a type may lack keys of a map, and an integer may
      // be in a Double. Only what differs from the untouched object was changed by the program.
      let untouched = try? ObjectReading.object(
        original, as: T.self, QueryContext(firestore: firestore))
      known = try? untouched.map {
        try ObjectGraph(firestore).encoding($0, EncodedFields.init(of:by:))
      }
      let changed = Set(try differences(from: known ?? read))
      names.removeAll { !changed.contains($0) }
      if names.isEmpty { return .nothing }
    }
    return .update(
      try fields.update(
        of: names, at: "updatedAt", keepingUnknownKeysOf: read, known: known ?? read))
  }

  /// A value as a document stores it, as a dictionary.
  func stored(_ value: some Encodable) throws -> [String: Any] {
    try encoding(value) { try $1.encode($0) }
  }

  /// A value as a document stores it, in the form that `encode` makes. Adds its children.
  private func encoding<Value: Encodable, Encoded>(
    _ value: Value, _ encode: (OwnFields<Value>, Firestore.Encoder) throws -> Encoded
  ) throws -> Encoded {
    // An encoder that cannot stream the value encodes it twice.
    let own = OwnFields(value: value) { [unowned self] in
      (children, newFiles, failure) = ([], [], nil)
    }
    let encoded = try encode(own, encoder)
    if let failure { throw failure }
    let added = children
    files += newFiles
    (children, newFiles) = ([], [])
    for child in added { try addNew(child.object, at: child.reference) }
    return encoded
  }

  /// The replacement of a value inside of another one as documents store it; nil for the value itself.
  private func storedForm(of value: any Encodable) throws -> (any Encodable)? {
    switch value {
    case let child as any ParseObject:
      if child.objectId != nil { return try reference(to: child) }
      let reference = try document(of: child)
      children.append((reference, child))
      return reference
    case let pointer as any PointerValue: return try pointer.reference(in: firestore)
    case let point as ParseGeoPoint: return point.stored
    case let bytes as ParseBytes: return try bytes.stored
    case var file as ParseFile:
      if try file.prepare() { newFiles.append(file) }
      return file
    default: return nil
    }
  }

  /// The document of an object that another one refers to. Adds an unsaved one.
  func reference(to child: some ParseObject) throws -> DocumentReference {
    guard let id = child.objectId else { return try create(child) }
    let reference = try Self.reference(type(of: child), id, in: firestore)
    known[reference.path] = child
    return reference
  }

  static func reference<T: ParseObject>(
    _ type: T.Type, _ id: String, in firestore: Firestore
  ) throws -> DocumentReference {
    try checkID(id)
    return firestore.collection(try collection(type)).document(id)
  }

  /// Throws `ParseError` for an id that leads to no document of a class: an empty one, or a path.
  static func checkID(_ id: String) throws(ParseError) {
    guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else {
      throw ParseError(.missingObjectId, "'\(id)' is not the id of an object.")
    }
  }

  static func collection<T: ParseObject>(_ type: T.Type) throws(ParseError) -> String {
    let name = T.className
    guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), !name.hasPrefix("_") else {
      throw ParseError(.invalidClassName, "'\(name)' is not the name of a class.")
    }
    return name
  }

  // MARK: Writing

  /// The commit of all of it.
  func commit(_ context: QueryContext) -> GuardedCommit {
    let updated = entries.compactMap { entry in
      if case .update = entry.change { entry.reference } else { nil }
    }
    return GuardedCommit(context: context, changed: updated, files: files, write: write)
  }

  /// Adds the writes of objects. Returns whether there are any.
  @discardableResult
  func write(to batch: WriteBatch, _ state: GuardedCommit.State) -> Bool {
    var isEmpty = true
    for entry in entries {
      switch entry.change {
      case .create(let fields): batch.create(fields, forDocument: entry.reference)
      case .update(let update):
        batch.updateData(
          update, forDocument: entry.reference, precondition: state.precondition(entry.reference))
        // Another interface may have changed a property that is not written.
        let type = Swift.type(of: entry.object)
        ObjectReading.requireReadable(entry.reference, as: type, in: batch)
      case .nothing: continue
      }
      isEmpty = false
    }
    return !isEmpty
  }

  /// A value of an object that is created.
  ///
  /// - Parameter names: The property, and the keys of maps in it.
  func valueOfNew(_ reference: DocumentReference, at names: [String]) -> Any? {
    for entry in entries where entry.reference == reference {
      guard case .create(let fields) = entry.change else { continue }
      var value: Any? = fields
      for name in names { value = (value as? [String: Any])?[name] }
      return value
    }
    return nil
  }

  /// The number of objects that were added.
  var count: Int { entries.count }

  /// The documents to read after the commit.
  var documents: [DocumentReference] { entries.map(\.reference) }

  /// The objects as they are stored, from the documents in their order, by path.
  func results(
    _ documents: [DocumentSnapshot], _ context: QueryContext
  ) -> [String: Result<any ParseObject, any Error>] {
    var objects = known
    var results = known.mapValues { Result<any ParseObject, any Error>.success($0) }
    for (entry, document) in zip(entries, documents) {
      let path = document.reference.path
      results[path] = Result { () throws -> any ParseObject in
        guard document.exists else { throw Self.notFound }
        // A write has checked the access already, and may have changed it.
        if case .nothing = entry.change, let identity = context.identity,
          !ParseACL.allows(.read, ParseACL(stored: document["ACL"]), to: identity)
        {
          throw Self.notFound
        }
        let type = Swift.type(of: entry.object)
        let object: any ParseObject = try ObjectReading.object(
          document, as: type, known: objects, context)
        objects[path] = object
        return object
      }
    }
    return results
  }

  /// One of the objects as it is stored, if all of them can be read.
  func object<T: ParseObject>(
    _ reference: DocumentReference, _ documents: [DocumentSnapshot], _ context: QueryContext
  ) throws -> T {
    let objects = try results(documents, context).mapValues { try $0.get() }
    guard let object = objects[reference.path] as? T else { throw Self.notFound }
    return object
  }

  static let notFound = ParseError(.objectNotFound, "Object not found.")
}

/// A pointer of any class.
protocol PointerValue: Sendable {
  func reference(in firestore: Firestore) throws -> DocumentReference
}

extension Pointer: PointerValue {}

/// Encodes a value where it is: an object not as a reference.
struct OwnFields<Value: Encodable>: Encodable {
  let value: Value
  /// Called when the encoding begins.
  var begin: () -> Void = {}

  func encode(to encoder: any Encoder) throws {
    begin()
    try value.encode(to: encoder)
  }
}

/// Values that an encoder leaves as they are.
enum PassthroughTypes: StructureCodingPassthroughTypeResolver {
  static func isPassthroughType<T>(_ value: T) -> Bool {
    switch value {
    case is any ParseObject, is any PointerValue, is ParseGeoPoint, is ParseFile, is ParseBytes,
      is GeoPoint, is Timestamp,
      is VectorValue, is DocumentReference, is FieldValue:
      true
    default: false
    }
  }
}
