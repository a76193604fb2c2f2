import Foundation
import Hearth

/// Reads objects from documents: a reference in them becomes the object that is included, or one that
/// has only its id.
enum ObjectReading {
  /// The objects that references become while one object is read.
  // Unchecked: one thread uses it, that of the read.
  fileprivate final class Session: @unchecked Sendable {
    /// The document that is read, with those that it includes, and the names of its inclusions. Several
    /// of one document that is included by several keys.
    var current = Level([])
    /// Objects that are known already, by path.
    let known: [String: any ParseObject]
    /// Who reads, if that is checked.
    let identity: ParseIdentity?
    let decoder = Firestore.Decoder()
    /// Of an included object: it is the error of the whole read.
    var error: (any Error)?

    init(_ known: [String: any ParseObject], _ identity: ParseIdentity?) {
      self.known = known
      self.identity = identity
    }

    func read<T: ParseObject>(_ document: DocumentSnapshot, _ type: T.Type) throws -> T {
      do { return try ObjectReading.object(document, type, decoder) } catch {
        throw self.error ?? error
      }
    }
  }

  @TaskLocal fileprivate static var session: Session?

  /// The objects of a result.
  static func objects<T: ParseObject>(
    _ documents: [IncludingDocument], as type: T.Type, including inclusions: [IncludePath],
    _ context: QueryContext
  ) throws -> [T] {
    let session = Session([:], context.identity)
    return try $session.withValue(session) {
      try documents.map { document in
        session.current = Level([(document, inclusions)])
        return try session.read(document.document, type)
      }
    }
  }

  /// The objects of a result without inclusions.
  static func objects<T: ParseObject>(
    _ documents: [DocumentSnapshot], as type: T.Type, known: [String: any ParseObject] = [:],
    _ context: QueryContext
  ) throws -> [T] {
    let session = Session(known, context.identity)
    return try $session.withValue(session) {
      try documents.map { try session.read($0, type) }
    }
  }

  /// A value from fields that are no object's.
  static func row<Row: Decodable>(_ fields: [String: Any], as type: Row.Type) throws -> Row {
    try Firestore.Decoder().decode(type, from: fields)
  }

  /// A point of an object that was read.
  static func point<T: ParseObject>(
    _ key: String, of object: T, _ context: QueryContext
  ) -> ParseGeoPoint? {
    guard let fields = object.originalData,
      let document = try? object.toPointer().reference(in: context.firestore)
        .snapshot(ofEncodedFields: fields),
      let point = document[key] as? GeoPoint
    else { return nil }
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
    let included = session.current.included(reference)
    guard let document = included.first?.document.document else {
      return T(objectId: reference.documentID)
    }
    let outer = session.current
    defer { session.current = outer }
    session.current = Level(included)
    do {
      let object = try object(document, type, session.decoder)
      if let identity = session.identity, !ParseACL.allows(.read, object.ACL, to: identity) {
        return T(objectId: reference.documentID)
      }
      return object
    } catch {
      session.error = session.error ?? error
      return nil
    }
  }
}

extension ObjectReading {
  /// The documents that are read, with those that they include, which are found by their references:
  /// an array may have thousands.
  fileprivate final class Level {
    typealias Documents = [(document: IncludingDocument, inclusions: [IncludePath])]

    private let documents: Documents
    private lazy var byReference = found()

    init(_ documents: Documents) { self.documents = documents }

    /// The document of a reference, once for each key that includes it.
    func included(_ reference: DocumentReference) -> Documents { byReference[reference] ?? [] }

    private func found() -> [DocumentReference: Documents] {
      var found: [DocumentReference: Documents] = [:]
      for (outer, inclusions) in documents {
        for inclusion in inclusions {
          var known: Set<DocumentReference> = []
          for document in outer.included(inclusion.key) {
            let reference = document.document.reference
            guard known.insert(reference).inserted else { continue }
            found[reference, default: []].append((document, inclusion.inner))
          }
        }
      }
      return found
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
    var order: [String] = []
    var below: [String: [ArraySlice<String>]] = [:]
    for path in paths {
      guard let first = path.first else { continue }
      if below[first] == nil { order.append(first) }
      below[first, default: []].append(path.dropFirst())
    }
    return order.map { IncludePath(key: $0, inner: tree(below[$0] ?? [])) }
  }

  var inclusion: DocumentInclusion { .reference(key, including: inner.map(\.inclusion)) }
}
