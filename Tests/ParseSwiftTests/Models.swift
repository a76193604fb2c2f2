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

/// A plan of doses, whose parts are in arrays of maps.
struct Plan: ParseObject {
  struct Dose: Codable, Hashable, Sendable {
    var drug: String?
    var amount: Int?
    var times: [String]?
  }

  struct Ward: Codable, Hashable, Sendable {
    var name: String?
    var beds: [Bed]?
  }

  struct Bed: Codable, Hashable, Sendable {
    var number: Int?
  }

  var objectId: String?
  var createdAt: Date?
  var updatedAt: Date?
  var ACL: ParseACL?
  var originalData: Data?

  var name: String?
  var points: Int?
  var rank: Int?
  var doses: [Dose]?
  var ward: Ward?
  var stock: [String: [Dose]]?
}

/// Where `Hearth` is imported, too, `Query` is that of Firestore.
typealias NodeQuery = Query<Node>
typealias AuthorQuery = Query<Author>
typealias PlanQuery = Query<Plan>
typealias PlanOrder = Query<Plan>.Order
