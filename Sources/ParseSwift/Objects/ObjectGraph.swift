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
struct ObjectGraph {
  private enum Change {
    case create([String: Any])
    case update([AnyHashable: Any])
    case nothing
  }

  private struct Entry {
    var reference: DocumentReference
    var object: any ParseObject
    var change: Change

    /// A write has checked the access already, and may have changed it.
    func mayBeRead(_ document: DocumentSnapshot, _ context: QueryContext) -> Bool {
      guard case .nothing = change, let identity = context.identity else { return true }
      return ParseACL.allows(.read, ParseACL(stored: document["ACL"]), to: identity)
    }
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
  /// Saved objects that others refer to.
  private var known: [String: any ParseObject] = [:]
  /// The objects of classes that earlier commits created, as they are stored.
  private var earlier: [String: any ParseObject] = [:]
  private var files: [ParseFile] = []

  /// Properties that a save does not write as they are.
  private static let own: Set<String> = ["objectId", "createdAt", "updatedAt", "originalData"]

  init(_ firestore: Firestore) {
    self.firestore = firestore
    encoder.passthroughTypeResolver = PassthroughTypes.self
  }

  /// Another commit after those of `graph`: what they created exists.
  init(after graph: ObjectGraph) {
    self.init(graph.firestore)
    references = graph.references
    earlier = graph.earlier
  }

  /// Keeps the objects of the commit as they are stored, for commits after it.
  mutating func keep(_ results: [String: Result<any ParseObject, any Error>]) {
    for entry in entries where Self.instance(entry.object) != nil {
      let path = entry.reference.path
      if case .success(let object)? = results[path] { earlier[path] = object }
    }
  }

  // MARK: Collecting

  /// Adds an object that is saved itself. Returns its document.
  @discardableResult
  mutating func add(
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

  private mutating func create(
    _ object: some ParseObject, at reference: DocumentReference? = nil
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
    var fields = try stored(object)
    if fields["ACL"] == nil, let acl = ParseACL.defaultACL(in: firestore) {
      fields["ACL"] = acl.json
    }
    fields["createdAt"] = FieldValue.serverTimestamp()
    fields["updatedAt"] = FieldValue.serverTimestamp()
    entries.append(Entry(reference: reference, object: object, change: .create(fields)))
    return reference
  }

  /// Nil for a structure.
  private static func instance(_ object: some ParseObject) -> ObjectIdentifier? {
    type(of: object) is AnyClass ? ObjectIdentifier(object as AnyObject) : nil
  }

  /// The fields that differ from those that were read; without those, all that are not nil.
  private mutating func changes(
    of object: some ParseObject, _ reference: DocumentReference, writesAll: Bool
  ) throws -> Change {
    let fields = try stored(object)
    let types = FieldNames.types(of: type(of: object))
    var changes: [AnyHashable: Any] = [:]
    if writesAll {
      for name in types.keys where !Self.own.contains(name) {
        changes[FieldPath([name])] = fields[name] ?? FieldValue.delete()
      }
    } else if let original = object.originalData {
      let read = try reference.snapshot(ofEncodedFields: original)
      let before = read.data() ?? [:]
      // Decoding and encoding is not the identity: a type may lack keys of a map, and an integer may
      // be in a Double. Only what differs from the untouched object was changed by the program.
      let untouched = (try? self.untouched(object, read)) ?? before
      func isUntouched(_ name: String, _ value: Any) -> Bool {
        let isSet = types[name].map { PropertyKind.isSet($0) } ?? false
        let areEqual = isSet ? Self.haveEqualElements : Self.areEqual
        return areEqual(before[name], value) || areEqual(untouched[name], value)
      }
      for (name, value) in fields where !isUntouched(name, value) {
        changes[FieldPath([name])] = Self.keeping(
          unknownOf: before[name], known: untouched[name], in: value)
      }
      for name in before.keys where fields[name] == nil && untouched[name] != nil {
        guard types[name] != nil, !Self.own.contains(name) else { continue }
        changes[FieldPath([name])] = FieldValue.delete()
      }
    } else {
      for (name, value) in fields { changes[FieldPath([name])] = value }
    }
    if changes.isEmpty { return .nothing }
    changes[FieldPath(["updatedAt"])] = FieldValue.serverTimestamp()
    return .update(changes)
  }

  /// The fields that the object would have if it was saved as it was read.
  private func untouched<T: ParseObject>(
    _ object: T, _ document: DocumentSnapshot
  ) throws -> [String: Any] {
    var graph = ObjectGraph(firestore)
    return try graph.stored(
      ObjectReading.object(document, as: T.self, QueryContext(firestore, nil)))
  }

  /// Adds to maps the keys that were read and that their types do not know, such as those of a newer
  /// version of the program.
  private static func keeping(unknownOf read: Any?, known: Any?, in value: Any) -> Any {
    guard let read = read as? [String: Any], let known = known as? [String: Any],
      var map = value as? [String: Any]
    else { return value }
    for (key, stored) in read {
      if let value = map[key] {
        map[key] = keeping(unknownOf: stored, known: known[key], in: value)
      } else if known[key] == nil {
        map[key] = stored
      }
    }
    return map
  }

  /// Whether writing one value over the other changes nothing. Finer than the equality of queries and
  /// of Foundation: 1 and 1.0 differ, and so do texts of different bytes.
  private static func areEqual(_ one: Any?, _ other: Any?) -> Bool {
    switch (one, other) {
    case (let one as String, let other as String): one.utf8.elementsEqual(other.utf8)
    case (let one as [Any], let other as [Any]):
      one.count == other.count && zip(one, other).allSatisfy { areEqual($0, $1) }
    case (let one as [String: Any], let other as [String: Any]):
      one.count == other.count
        && one.allSatisfy { name, value in
          // A dictionary also finds a name of other bytes that is the same text.
          guard let index = other.index(forKey: name) else { return false }
          return other[index].key.utf8.elementsEqual(name.utf8)
            && areEqual(other[index].value, value)
        }
    case (let one as NSNumber, let other as NSNumber):
      String(cString: one.objCType) == String(cString: other.objCType) && one.isEqual(to: other)
    case (let one?, let other?): (["": one] as NSDictionary).isEqual(to: ["": other])
    default: false
    }
  }

  /// The same for sets, whose elements are encoded in any order.
  private static func haveEqualElements(_ one: Any?, _ other: Any?) -> Bool {
    guard let one = one as? [Any], let other = other as? [Any] else { return areEqual(one, other) }
    if one.count != other.count { return false }
    var left = Dictionary(grouping: other) { fingerprint($0) }
    return one.allSatisfy { element in
      let key = fingerprint(element)
      // The last first: it is removed without moving others.
      guard let index = left[key]?.lastIndex(where: { areEqual(element, $0) }) else {
        return false
      }
      left[key]?.remove(at: index)
      return true
    }
  }

  /// A number that is the same for values that are equal by `areEqual`.
  private static func fingerprint(_ value: Any) -> Int {
    var hasher = Hasher()
    switch value {
    case let text as String:
      for byte in text.utf8 { hasher.combine(byte) }
    case let list as [Any]:
      for element in list { hasher.combine(fingerprint(element)) }
    case let map as [String: Any]:
      // In any order.
      var sum = 0
      for (name, value) in map {
        sum &+= fingerprint([name as Any, value])
      }
      hasher.combine(sum)
    case let number as NSNumber: hasher.combine(number.doubleValue)
    case let object as NSObject: hasher.combine(object.hash)
    default: hasher.combine(value as? AnyHashable)
    }
    return hasher.finalize()
  }

  /// The object's own fields, as they are stored. Adds its children.
  private mutating func stored(_ object: some ParseObject) throws -> [String: Any] {
    var fields = try encoder.encode(OwnFields(object))
    for name in Self.own { fields[name] = nil }
    for (name, value) in fields { fields[name] = try stored(value) }
    return fields
  }

  /// The same, for a value of a field, or of a constraint.
  mutating func stored(_ value: Any) throws -> Any {
    switch value {
    case let child as any ParseObject: return try child.stored(in: &self)
    case let pointer as any PointerValue: return try pointer.reference(in: firestore)
    case let point as ParseGeoPoint: return point.stored
    case let bytes as ParseBytes: return try bytes.stored
    case var file as ParseFile:
      if try file.prepare() { files.append(file) }
      return file.stored
    case let map as [String: Any]: return try map.mapValues { try stored($0) }
    case let list as [Any]: return try list.map { try stored($0) }
    default: return value
    }
  }

  /// The document of an object that another one refers to. Adds an unsaved one.
  mutating func reference(to child: some ParseObject) throws -> DocumentReference {
    guard let id = child.objectId else { return try create(child) }
    let reference = try Self.reference(type(of: child), id, in: firestore)
    known[reference.path] = child
    return reference
  }

  static func reference<T: ParseObject>(
    _ type: T.Type, _ id: String, in firestore: Firestore
  ) throws -> DocumentReference {
    try ObjectID.check(id)
    return firestore.collection(try collection(type)).document(id)
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
    let upload = upload
    return GuardedCommit(context: context, changed: updated, before: upload.before) {
      try batch($0, upload)
    }
  }

  /// The writes of its new files.
  var upload: FileUpload { FileUpload(files, firestore) }

  /// Nil for no writes.
  func batch(_ state: GuardedCommit.State, _ upload: FileUpload) throws -> WriteBatch? {
    let batch = firestore.batch()
    var isEmpty = upload.isEmpty
    upload.add(to: batch)
    for entry in entries {
      switch entry.change {
      case .create(let fields): batch.create(fields, forDocument: entry.reference)
      case .update(let fields):
        batch.updateData(
          fields, forDocument: entry.reference, precondition: state.precondition(entry.reference))
        // Another interface may have changed a property that is not written.
        entry.object.requireReadable(at: entry.reference, in: batch)
      case .nothing: continue
      }
      isEmpty = false
    }
    return isEmpty ? nil : batch
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
        guard document.exists, entry.mayBeRead(document, context) else { throw Self.notFound }
        let object = try entry.object.object(from: document, objects, context)
        objects[path] = object
        return object
      }
    }
    return results
  }

  /// The same for objects that can all be read.
  func objects(
    _ documents: [DocumentSnapshot], _ context: QueryContext
  ) throws -> [String: any ParseObject] {
    try results(documents, context).mapValues { try $0.get() }
  }

  static let notFound = ParseError(.objectNotFound, "Object not found.")
}

extension ParseObject {
  fileprivate func stored(in graph: inout ObjectGraph) throws -> Any {
    try graph.reference(to: self)
  }

  fileprivate func requireReadable(at reference: DocumentReference, in batch: WriteBatch) {
    ObjectReading.requireReadable(reference, as: Self.self, in: batch)
  }

  fileprivate func object(
    from document: DocumentSnapshot, _ known: [String: any ParseObject], _ context: QueryContext
  ) throws -> Self {
    try ObjectReading.object(document, as: Self.self, known: known, context)
  }
}

/// A pointer of any class.
protocol PointerValue: Sendable {
  func reference(in firestore: Firestore) throws -> DocumentReference
}

extension Pointer: PointerValue {}

/// Encodes an object where it is, and not as a reference.
struct OwnFields<Object: ParseObject>: Encodable {
  let object: Object
  init(_ object: Object) { self.object = object }
  func encode(to encoder: any Encoder) throws { try object.encode(to: encoder) }
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
