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
    var current: [(document: IncludingDocument, inclusions: [IncludePath])] = []
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
        session.current = [(document, inclusions)]
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
    let included = session.included(reference)
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
      session.error = session.error ?? error
      return nil
    }
  }
}

extension ObjectReading.Session {
  /// The document of a reference, once for each key that includes it.
  fileprivate func included(
    _ reference: DocumentReference
  ) -> [(document: IncludingDocument, inclusions: [IncludePath])] {
    var found: [(document: IncludingDocument, inclusions: [IncludePath])] = []
    for (outer, inclusions) in current {
      for inclusion in inclusions {
        if let document = outer.included(inclusion.key).first(where: {
          $0.document.reference == reference
        }) {
          found.append((document, inclusion.inner))
        }
      }
    }
    return found
  }
}

/// A key to include, with those to include in its objects.
struct IncludePath: Hashable, Sendable {
  var key: String
  var inner: [IncludePath] = []

  /// From keys whose dots lead into included objects: `author`, `author.publisher`.
  static func tree(_ keys: [String]) -> [IncludePath] {
    var tree: [IncludePath] = []
    for key in keys { add(key.split(separator: ".").map(String.init)[...], to: &tree) }
    return tree
  }

  private static func add(_ names: ArraySlice<String>, to tree: inout [IncludePath]) {
    guard let first = names.first else { return }
    let index = tree.firstIndex { $0.key == first } ?? tree.count
    if index == tree.count { tree.append(IncludePath(key: first)) }
    add(names.dropFirst(), to: &tree[index].inner)
  }

  var inclusion: DocumentInclusion { .reference(key, including: inner.map(\.inclusion)) }
}
