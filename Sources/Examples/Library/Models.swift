import Foundation
import ParseSwift

// The properties before the empty line are those that every object has.

public struct Genre: ParseObject {
  public var objectId: String?
  public var createdAt: Date?
  public var updatedAt: Date?
  public var ACL: ParseACL?
  public var originalData: Data?

  public var name: String?

  public init() {}
}

public struct Author: ParseObject {
  public var objectId: String?
  public var createdAt: Date?
  public var updatedAt: Date?
  public var ACL: ParseACL?
  public var originalData: Data?

  public var name: String?

  public init() {}
}

public struct ISBN: ParseObject {
  public var objectId: String?
  public var createdAt: Date?
  public var updatedAt: Date?
  public var ACL: ParseACL?
  public var originalData: Data?

  public var value: String?

  public init() {}
}

/// A book has one ISBN, and relations with its authors and genres.
public struct Book: ParseObject {
  public var objectId: String?
  public var createdAt: Date?
  public var updatedAt: Date?
  public var ACL: ParseACL?
  public var originalData: Data?

  public var title: String?
  public var publishingYear: Int?
  public var isbn: ISBN?

  public init() {}
}
