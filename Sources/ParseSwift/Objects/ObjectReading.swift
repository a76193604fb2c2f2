import Foundation
import Hearth

/// Reads objects from documents: a reference in them becomes the object that is included, or one that
/// has only its id.
enum ObjectReading {
  /// The objects that references become while one object is read.
  // Unchecked: one thread uses it, that of the read.
  fileprivate final class Session: @unchecked Sendable {
    /// The document that is read, with those that it includes. Several of one document that is included by
    /// several keys.
    var current: [Including] = []
    /// Objects that are known already, by path.
    let known: [String: any ParseObject]
    /// Who reads, if that is checked.
    let identity: ParseIdentity?
    let unreadable: Unreadable
    let decoder = Firestore.Decoder()
    /// The failure of an included object is the error of the whole read, unless failures are collected.
    var error: ParseError?
    /// The errors of objects that the read goes on without.
    private(set) var failures: [ParseError] = []
    /// The paths of the objects of `failures`: one that is included several times fails once.
    private var failed: Set<String> = []

    init(
      _ known: [String: any ParseObject], _ identity: ParseIdentity?, _ unreadable: Unreadable
    ) {
      self.known = known
      self.identity = identity
      self.unreadable = unreadable
    }

    /// Nil for a document that cannot be read, if failures are collected.
    func read<T: ParseObject>(
      _ document: DocumentSnapshot, _ type: T.Type
    ) throws(ParseError) -> T? {
      do { return try ObjectReading.object(document, type, decoder) } catch {
        let failure = failure(error, document.reference)
        guard unreadable == .collect else { throw failure }
        note(failure, of: document)
        return nil
      }
    }

    /// The error of the read of an object: that of an included one, if there is one.
    func failure(_ error: any Error, _ reference: DocumentReference) -> ParseError {
      self.error ?? ParseError(error, reading: reference)
    }

    func note(_ failure: ParseError, of document: DocumentSnapshot) {
      if failed.insert(document.reference.path).inserted { failures.append(failure) }
    }
  }

  /// How a read treats an object that cannot be read.
  enum Unreadable {
    /// It throws the error of the object.
    case fail
    /// It goes on without the object.
    case collect
  }

  @TaskLocal fileprivate static var session: Session?

  /// The objects of a result.
  static func objects<T: ParseObject>(
    _ documents: [IncludingDocument], as type: T.Type, including inclusions: [IncludePath],
    _ context: QueryContext, _ unreadable: Unreadable
  ) throws -> ReadableObjects<T> {
    let session = Session([:], context.identity, unreadable)
    return try $session.withValue(session) {
      let objects = try documents.compactMap { document in
        session.current = [Including(document, inclusions)]
        return try session.read(document.document, type)
      }
      return ReadableObjects(objects: objects, failures: session.failures)
    }
  }

  /// The objects of a result without inclusions.
  static func objects<T: ParseObject>(
    _ documents: [DocumentSnapshot], as type: T.Type, _ context: QueryContext,
    _ unreadable: Unreadable
  ) throws -> ReadableObjects<T> {
    let session = Session([:], context.identity, unreadable)
    return try $session.withValue(session) {
      let objects = try documents.compactMap { try session.read($0, type) }
      return ReadableObjects(objects: objects, failures: session.failures)
    }
  }

  /// The object of one document.
  static func object<T: ParseObject>(
    _ document: DocumentSnapshot, as type: T.Type, known: [String: any ParseObject] = [:],
    _ context: QueryContext
  ) throws -> T {
    let session = Session(known, context.identity, .fail)
    return try $session.withValue(session) {
      do { return try object(document, type, session.decoder) } catch {
        throw session.failure(error, document.reference)
      }
    }
  }

  /// Lets a batch be committed only if the object can be read as its writes leave it.
  static func requireReadable<T: ParseObject>(
    _ reference: DocumentReference, as type: T.Type, in batch: WriteBatch
  ) {
    batch.check(reference) { document in
      // One that does not exist is refused by the precondition of the write.
      guard document.exists else { return }
      do { _ = try object(document, type, Firestore.Decoder()) } catch {
        throw ParseError(error, refusing: reference)
      }
    }
  }

  /// A value from fields that are no object's.
  static func row<Row: Decodable>(
    _ fields: [String: Any], as type: Row.Type, ofClass className: String
  ) throws -> Row {
    do { return try Firestore.Decoder().decode(type, from: fields) } catch {
      throw ParseError(error, groupOf: className)
    }
  }

  /// A point of an object that was read.
  static func point<T: ParseObject>(
    _ key: String, of object: T, _ context: QueryContext
  ) -> ParseGeoPoint? {
    guard let point = (try? object.original(in: context.firestore))?[key] as? GeoPoint else {
      return nil
    }
    return try? ParseGeoPoint(latitude: point.latitude, longitude: point.longitude)
  }

  fileprivate static func object<T: ParseObject>(
    _ document: DocumentSnapshot, _ type: T.Type, _ decoder: Firestore.Decoder
  ) throws -> T {
    var object = try document.data(as: type, decoder: decoder)
    object.objectId = document.documentID
    object.originalData = document.encodedFields
    return object
  }

  /// The object of a reference. Nil if it is one of another class, or cannot be read.
  static func object<T: ParseObject>(at reference: DocumentReference, as type: T.Type) -> T? {
    guard reference.parent.collectionID == T.className else { return nil }
    guard let session else { return T(objectId: reference.documentID) }
    if !session.known.isEmpty, let known = session.known[reference.path] as? T { return known }
    // Once for each key that includes it.
    let included = session.current.flatMap { $0.included(reference.path) }
    guard let document = included.first?.document.document else {
      return T(objectId: reference.documentID)
    }
    let outer = session.current
    defer { session.current = outer }
    session.current = included
    do {
      let object = try object(document, type, session.decoder)
      if let identity = session.identity, !ParseACL.allows(.read, object.ACL, to: identity) {
        return T(objectId: reference.documentID)
      }
      return object
    } catch {
      let failure = session.failure(error, reference)
      if let identity = session.identity,
        !ParseACL.allows(.read, ParseACL(stored: document["ACL"]), to: identity)
      {
        // As if it could be read: the failure would show what is stored.
        return T(objectId: reference.documentID)
      }
      guard session.unreadable == .collect else {
        session.error = failure
        return nil
      }
      session.note(failure, of: document)
      return T(objectId: reference.documentID)
    }
  }
}

extension ObjectReading {
  /// A document with those that it includes.
  fileprivate final class Including {
    let document: IncludingDocument
    private let inclusions: [IncludePath]
    /// By the path, for each key: a list may include many. Made for the first reference.
    private lazy var included: [[String: IncludingDocument]] = inclusions.map { inclusion in
      Dictionary(
        document.included(inclusion.key).map { ($0.document.reference.path, $0) },
        uniquingKeysWith: { first, _ in first })
    }

    init(_ document: IncludingDocument, _ inclusions: [IncludePath]) {
      self.document = document
      self.inclusions = inclusions
    }

    func included(_ path: String) -> [Including] {
      if inclusions.isEmpty { return [] }
      return zip(inclusions, included).compactMap { inclusion, documents in
        documents[path].map { Including($0, inclusion.inner) }
      }
    }
  }
}

/// A key to include, with those to include in its objects.
struct IncludePath: Hashable, Sendable {
  var key: String
  var inner: [IncludePath] = []

  /// From keys whose dots lead into included objects: `author`, `author.publisher`.
  static func tree(_ keys: [String]) -> [IncludePath] {
    // A path with more names is refused: inclusions are not nested so deep.
    tree(keys.map { $0.split(separator: ".", maxSplits: 16).map(String.init)[...] })
  }

  private static func tree(_ paths: [ArraySlice<String>]) -> [IncludePath] {
    var positions: [String: Int] = [:]
    var branches: [(key: String, inner: [ArraySlice<String>])] = []
    for path in paths {
      guard let key = path.first else { continue }
      let position = positions[key] ?? branches.count
      if position == branches.count {
        positions[key] = position
        branches.append((key, []))
      }
      branches[position].inner.append(path.dropFirst())
    }
    return branches.map { IncludePath(key: $0.key, inner: tree($0.inner)) }
  }

  var inclusion: DocumentInclusion { .reference(key, including: inner.map(\.inclusion)) }
}
