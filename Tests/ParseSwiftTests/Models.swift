import Foundation
import ParseSwift

// The models of the tutorial on relations, with the properties that every object has.

struct Genre: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
}

struct Author: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
}

struct Publisher: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
}

struct ISBN: ParseObject {
  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var value: String?
}

/// Where `Hearth` is imported, too, `Query` is that of Firestore.
typealias NodeQuery = Query<Node>
typealias AuthorQuery = Query<Author>
