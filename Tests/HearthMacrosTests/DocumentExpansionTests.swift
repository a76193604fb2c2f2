#if Macros
  import CompilerCheck
  import Foundation
  import Testing

  /// The text that `@Document` writes, side by side with each kind of declaration.
  ///
  /// After a change of the macro, check each difference that the test shows, and copy it.
  @Suite struct DocumentExpansionTests {
    struct Expansion: CustomTestStringConvertible {
      /// Of the type. Unique, and without words of other names: it is searched in mangled ones.
      var name: String
      var promise: String
      var source: String
      /// The members, and the extension.
      var expected: String
      var testDescription: String { promise }

      init(_ name: String, _ promise: String, _ source: String, _ expected: String) {
        self.name = name
        self.promise = promise
        self.source = source
        self.expected = expected
      }
    }

    private static let models = """
      import Foundation
      import HearthMacros

      struct Tag: Codable { var name: String }
      public enum Outer {}

      @propertyWrapper
      struct Clamped: Codable { var wrappedValue: Int }
      """

    static let all: [Expansion] = [
      // Structures
      Expansion(
        "Plain", "each stored property is a field, and no other is",
        """
        @Document
        struct Plain: Codable {
          var title: String
          let pages: Int
          var width, height: Double
          var seen: Bool { didSet { print(seen) } }
          var area: Double { width * height }
          var half: Double { get { width / 2 } set { width = 2 * newValue } }
          static let count = 1
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
          var pages: Field<Int> {
            Field("pages")
          }
          var width: Field<Double> {
            Field("width")
          }
          var height: Field<Double> {
            Field("height")
          }
          var seen: Field<Bool> {
            Field("seen")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Plain: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("height", "pages", "seen", "title", "width")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.height, at: 0)
            try fields.write(self.pages, at: 1)
            try fields.write(self.seen, at: 2)
            try fields.write(self.title, at: 3)
            try fields.write(self.width, at: 4)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type3 = DocumentFields<Self>.type {
              $0.title
            }
            let value3 = try fields.read(type3, at: 3)
            let type1 = DocumentFields<Self>.type {
              $0.pages
            }
            let value1 = try fields.read(type1, at: 1)
            let type4 = DocumentFields<Self>.type {
              $0.width
            }
            let value4 = try fields.read(type4, at: 4)
            let type0 = DocumentFields<Self>.type {
              $0.height
            }
            let value0 = try fields.read(type0, at: 0)
            let type2 = DocumentFields<Self>.type {
              $0.seen
            }
            let value2 = try fields.read(type2, at: 2)
            self.title = value3
            self.pages = value1
            self.width = value4
            self.height = value0
            self.seen = value2
          }
        }
        """),
      Expansion(
        "Empty", "a structure without properties is an empty map",
        """
        @Document
        struct Empty: Codable {}
        """,
        """
        nonisolated struct Fields: Sendable {
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Empty: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>()
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
          }
        }
        """),
      Expansion(
        "Maybe", "optionals may be missing",
        """
        @Document
        struct Maybe: Codable {
          var one: Int?
          var other: Optional<String>
          var third: Date!
          var fourth: Double? = 4
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var one: Field<Int?> {
            Field("one")
          }
          var other: Field<Optional<String>> {
            Field("other")
          }
          var third: Field<Date?> {
            Field("third")
          }
          var fourth: Field<Double?> {
            Field("fourth")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Maybe: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("fourth", "one", "other", "third")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.fourth, at: 0)
            try fields.write(self.one, at: 1)
            try fields.write(self.other, at: 2)
            try fields.write(self.third, at: 3)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type1 = DocumentFields<Self>.type {
              $0.one
            }
            let value1 = try fields.read(type1, at: 1)
            let type2 = DocumentFields<Self>.type {
              $0.other
            }
            let value2 = try fields.read(type2, at: 2)
            let type3 = DocumentFields<Self>.type {
              $0.third
            }
            let value3 = try fields.read(type3, at: 3)
            let type0 = DocumentFields<Self>.type {
              $0.fourth
            }
            let value0 = try fields.read(type0, at: 0)
            self.one = value1
            self.other = value2
            self.third = value3
            self.fourth = value0
          }
        }
        """),
      Expansion(
        "Filled", "a default value counts for a missing field, for Codable too",
        """
        @Document
        struct Filled: Codable {
          var title: String
          var pages = 0
          var price = -1.5
          var isRead = false, isLent: Bool = false
          var tags = [String](), seen = Set<Int>()
          var made = Date()
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
          var pages: Field<Int> {
            Field("pages")
          }
          var price: Field<Double> {
            Field("price")
          }
          var isRead: Field<Bool> {
            Field("isRead")
          }
          var isLent: Field<Bool> {
            Field("isLent")
          }
          var tags: Field<[String]> {
            Field("tags")
          }
          var seen: Field<Set<Int>> {
            Field("seen")
          }
          var made: Field<Date> {
            Field("made")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Filled: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("isLent", "isRead", "made", "pages", "price", "seen", "tags", "title")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.isLent, at: 0)
            try fields.write(self.isRead, at: 1)
            try fields.write(self.made, at: 2)
            try fields.write(self.pages, at: 3)
            try fields.write(self.price, at: 4)
            try fields.write(self.seen, at: 5)
            try fields.write(self.tags, at: 6)
            try fields.write(self.title, at: 7)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type7 = DocumentFields<Self>.type {
              $0.title
            }
            let value7 = try fields.read(type7, at: 7)
            if try fields.isStored(at: 3) {
              self.pages = try fields.read(at: 3)
            }
            if try fields.isStored(at: 4) {
              self.price = try fields.read(at: 4)
            }
            if try fields.isStored(at: 1) {
              self.isRead = try fields.read(at: 1)
            }
            if try fields.isStored(at: 0) {
              self.isLent = try fields.read(at: 0)
            }
            if try fields.isStored(at: 6) {
              self.tags = try fields.read(at: 6)
            }
            if try fields.isStored(at: 5) {
              self.seen = try fields.read(at: 5)
            }
            if try fields.isStored(at: 2) {
              self.made = try fields.read(at: 2)
            }
            self.title = value7
          }
          init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: DocumentFieldKey.self)
            self.title = try fields.decode(field: "title")
            if fields.contains("pages") {
              self.pages = try fields.decode(field: "pages")
            }
            if fields.contains("price") {
              self.price = try fields.decode(field: "price")
            }
            if fields.contains("isRead") {
              self.isRead = try fields.decode(field: "isRead")
            }
            if fields.contains("isLent") {
              self.isLent = try fields.decode(field: "isLent")
            }
            if fields.contains("tags") {
              self.tags = try fields.decode(field: "tags")
            }
            if fields.contains("seen") {
              self.seen = try fields.decode(field: "seen")
            }
            if fields.contains("made") {
              self.made = try fields.decode(field: "made")
            }
          }
        }
        """),
      Expansion(
        "Constant", "a constant with a value is written and never read",
        """
        @Document
        struct Constant: Codable {
          let version = 3
          var title: String

          enum CodingKeys: CodingKey { case version, title }
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var version: Field<Int> {
            Field("version")
          }
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Constant: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("title", "version")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.title, at: 0)
            try fields.write(self.version, at: 1)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.title
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value0
          }
        }
        """),
      Expansion(
        "Renamed", "names come from CodingKeys, which may omit a property",
        #"""
        @Document
        struct Renamed: Codable {
          var title: String
          var `default`: Bool
          var note: String?
          var observed = 0

          enum CodingKeys: String, CodingKey { case title = "name", `default`, note = "a\\b" }
        }
        """#,
        #"""
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("name")
          }
          var `default`: Field<Bool> {
            Field("default")
          }
          var note: Field<String?> {
            Field("a\\b")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Renamed: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("a\\b", "default", "name")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.note, at: 0)
            try fields.write(self.`default`, at: 1)
            try fields.write(self.title, at: 2)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type2 = DocumentFields<Self>.type {
              $0.title
            }
            let value2 = try fields.read(type2, at: 2)
            let type1 = DocumentFields<Self>.type {
              $0.`default`
            }
            let value1 = try fields.read(type1, at: 1)
            let type0 = DocumentFields<Self>.type {
              $0.note
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value2
            self.`default` = value1
            self.note = value0
          }
        }
        """#),
      Expansion(
        "Holder", "collections and nested types are fields like any other",
        """
        @Document
        struct Holder: Codable {
          struct Part: Codable { var name: String }

          var tags: [Tag]
          var byName: [String: [Int]]
          var numbers: Set<Int>
          var part: Part
          var parts: [Part?]
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var tags: Field<[Tag]> {
            Field("tags")
          }
          var byName: Field<[String: [Int]]> {
            Field("byName")
          }
          var numbers: Field<Set<Int>> {
            Field("numbers")
          }
          var part: Field<Part> {
            Field("part")
          }
          var parts: Field<[Part?]> {
            Field("parts")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Holder: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("byName", "numbers", "part", "parts", "tags")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.byName, at: 0)
            try fields.write(self.numbers, at: 1)
            try fields.write(self.part, at: 2)
            try fields.write(self.parts, at: 3)
            try fields.write(self.tags, at: 4)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type4 = DocumentFields<Self>.type {
              $0.tags
            }
            let value4 = try fields.read(type4, at: 4)
            let type0 = DocumentFields<Self>.type {
              $0.byName
            }
            let value0 = try fields.read(type0, at: 0)
            let type1 = DocumentFields<Self>.type {
              $0.numbers
            }
            let value1 = try fields.read(type1, at: 1)
            let type2 = DocumentFields<Self>.type {
              $0.part
            }
            let value2 = try fields.read(type2, at: 2)
            let type3 = DocumentFields<Self>.type {
              $0.parts
            }
            let value3 = try fields.read(type3, at: 3)
            self.tags = value4
            self.byName = value0
            self.numbers = value1
            self.part = value2
            self.parts = value3
          }
        }
        """),
      Expansion(
        "Inner", "a type in an extension has its access",
        """
        public extension Outer {
          @Document
          struct Inner: Codable {
            var title: String
            private var secret = 1
          }
        }
        """,
        """
        nonisolated public struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated public static var fields: Fields {
          Fields()
        }
        nonisolated extension Outer.Inner: DocumentValueCodable, DocumentCodable, DocumentModel {
          public static let documentFields = DocumentFields<Self>("secret", "title")
          public func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.secret, at: 0)
            try fields.write(self.title, at: 1)
          }
          public init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type1 = DocumentFields<Self>.type {
              $0.title
            }
            let value1 = try fields.read(type1, at: 1)
            if try fields.isStored(at: 0) {
              self.secret = try fields.read(at: 0)
            }
            self.title = value1
          }
          public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: DocumentFieldKey.self)
            self.title = try fields.decode(field: "title")
            if fields.contains("secret") {
              self.secret = try fields.decode(field: "secret")
            }
          }
        }
        """),
      Expansion(
        "Ring", "Self is the type, also in the table of fields",
        """
        @Document
        struct Ring: Codable {
          var name: String
          var rings: [Self]
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var name: Field<String> {
            Field("name")
          }
          var rings: Field<[Ring]> {
            Field("rings")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Ring: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("name", "rings")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.name, at: 0)
            try fields.write(self.rings, at: 1)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.name
            }
            let value0 = try fields.read(type0, at: 0)
            let type1 = DocumentFields<Self>.type {
              $0.rings
            }
            let value1 = try fields.read(type1, at: 1)
            self.name = value0
            self.rings = value1
          }
        }
        """),
      Expansion(
        "Wrapped", "Firestore's wrappers are coded as themselves",
        """
        @Document
        struct Wrapped: Codable {
          @DocumentID var id: String?
          @ServerTimestamp var made: Date?
          @ExplicitNull var note: String?
          @Hearth.ExplicitNull var tag: Tag?
          var pages = 0
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var id: Field<String?> {
            .documentID
          }
          var made: Field<Date?> {
            Field("made")
          }
          var note: Field<String?> {
            Field("note")
          }
          var tag: Field<Tag?> {
            Field("tag")
          }
          var pages: Field<Int> {
            Field("pages")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Wrapped: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("id", "made", "note", "pages", "tag")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(wrapper: self._id, at: 0)
            try fields.write(wrapper: self._made, at: 1)
            try fields.write(wrapper: self._note, at: 2)
            try fields.write(self.pages, at: 3)
            try fields.write(wrapper: self._tag, at: 4)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0._id
            }
            let value0 = try fields.read(type0, wrapperAt: 0)
            let type1 = DocumentFields<Self>.type {
              $0._made
            }
            let value1 = try fields.read(type1, wrapperAt: 1)
            let type2 = DocumentFields<Self>.type {
              $0._note
            }
            let value2 = type2.init(wrappedValue: try fields.read(at: 2))
            let type4 = DocumentFields<Self>.type {
              $0._tag
            }
            let value4 = type4.init(wrappedValue: try fields.read(at: 4))
            if try fields.isStored(at: 3) {
              self.pages = try fields.read(at: 3)
            }
            self._id = value0
            self._made = value1
            self._note = value2
            self._tag = value4
          }
          init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: DocumentFieldKey.self)
            self._id = try fields.decode(wrapper: "id")
            self._made = try fields.decode(wrapper: "made")
            self._note = try fields.decode(wrapper: "note")
            self._tag = try fields.decode(wrapper: "tag")
            if fields.contains("pages") {
              self.pages = try fields.decode(field: "pages")
            }
          }
        }
        """),
      Expansion(
        "Foreign", "another wrapper is left to Codable, with its document",
        """
        @Document
        struct Foreign: Codable {
          @Clamped var pages: Int
          var title: String
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var pages: Field<Int> {
            Field("pages")
          }
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Foreign: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("pages", "title")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(wrapper: self._pages, at: 0)
            try fields.write(self.title, at: 1)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0._pages
            }
            let value0 = try fields.read(type0, wrapperAt: 0)
            let type1 = DocumentFields<Self>.type {
              $0.title
            }
            let value1 = try fields.read(type1, at: 1)
            self._pages = value0
            self.title = value1
          }
        }
        """),
      Expansion(
        "Isolated", "fields are named anywhere, also those of a type of the main actor",
        """
        @Document
        @MainActor struct Isolated: Codable {
          var title: String
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Isolated: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("title")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.title, at: 0)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.title
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value0
          }
        }
        """),
      Expansion(
        "Published", "members have the access of their type and property",
        """
        @Document
        public struct Published: Codable {
          public var title: String
          package var shelf: Int
          var note: String?
          public private(set) var count: Int
          fileprivate var row: Int
          private var place = 1
        }
        """,
        """
        nonisolated public struct Fields: Sendable {
          public var title: Field<String> {
            Field("title")
          }
          package var shelf: Field<Int> {
            Field("shelf")
          }
          var note: Field<String?> {
            Field("note")
          }
          public var count: Field<Int> {
            Field("count")
          }
          fileprivate var row: Field<Int> {
            Field("row")
          }
        }
        nonisolated public static var fields: Fields {
          Fields()
        }
        nonisolated extension Published: DocumentValueCodable, DocumentCodable, DocumentModel {
          public static let documentFields = DocumentFields<Self>("count", "note", "place", "row", "shelf", "title")
          public func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.count, at: 0)
            try fields.write(self.note, at: 1)
            try fields.write(self.place, at: 2)
            try fields.write(self.row, at: 3)
            try fields.write(self.shelf, at: 4)
            try fields.write(self.title, at: 5)
          }
          public init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type5 = DocumentFields<Self>.type {
              $0.title
            }
            let value5 = try fields.read(type5, at: 5)
            let type4 = DocumentFields<Self>.type {
              $0.shelf
            }
            let value4 = try fields.read(type4, at: 4)
            let type1 = DocumentFields<Self>.type {
              $0.note
            }
            let value1 = try fields.read(type1, at: 1)
            let type0 = DocumentFields<Self>.type {
              $0.count
            }
            let value0 = try fields.read(type0, at: 0)
            let type3 = DocumentFields<Self>.type {
              $0.row
            }
            let value3 = try fields.read(type3, at: 3)
            if try fields.isStored(at: 2) {
              self.place = try fields.read(at: 2)
            }
            self.title = value5
            self.shelf = value4
            self.note = value1
            self.count = value0
            self.row = value3
          }
          public init(from decoder: any Decoder) throws {
            let fields = try decoder.container(keyedBy: DocumentFieldKey.self)
            self.title = try fields.decode(field: "title")
            self.shelf = try fields.decode(field: "shelf")
            self.note = try fields.decode(field: "note")
            self.count = try fields.decode(field: "count")
            self.row = try fields.decode(field: "row")
            if fields.contains("place") {
              self.place = try fields.decode(field: "place")
            }
          }
        }
        """),
      Expansion(
        "Shared", "the access may be that of the package",
        """
        @Document
        package struct Shared: Codable {
          public var title: String
        }
        """,
        """
        nonisolated package struct Fields: Sendable {
          package var title: Field<String> {
            Field("title")
          }
        }
        nonisolated package static var fields: Fields {
          Fields()
        }
        nonisolated extension Shared: DocumentValueCodable, DocumentCodable, DocumentModel {
          package static let documentFields = DocumentFields<Self>("title")
          package func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.title, at: 0)
          }
          package init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.title
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value0
          }
        }
        """),
      Expansion(
        "Hidden", "a type of its file has members without access",
        """
        @Document
        fileprivate struct Hidden: Codable {
          var title: String
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Hidden: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("title")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.title, at: 0)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.title
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value0
          }
        }
        """),
      Expansion(
        "Pair", "a generic structure has computed tables",
        """
        @Document
        struct Pair<Element: Codable>: Codable {
          var first: Element
          var second: Element?
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var first: Field<Element> {
            Field("first")
          }
          var second: Field<Element?> {
            Field("second")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Pair: DocumentValueCodable, DocumentCodable, DocumentModel {
          static var documentFields: DocumentFields<Self> {
            DocumentFields("first", "second")
          }
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.first, at: 0)
            try fields.write(self.second, at: 1)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.first
            }
            let value0 = try fields.read(type0, at: 0)
            let type1 = DocumentFields<Self>.type {
              $0.second
            }
            let value1 = try fields.read(type1, at: 1)
            self.first = value0
            self.second = value1
          }
        }
        """),
      Expansion(
        "Scarce", "availability is that of the type",
        """
        @available(macOS 99, *)
        @Document
        struct Scarce: Codable {
          var title: String
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        @available(macOS 99, *)
        nonisolated extension Scarce: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("title")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.title, at: 0)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.title
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value0
          }
        }
        """),
      Expansion(
        "Declared", "conformances that are declared are not added",
        """
        @Document
        struct Declared: DocumentCodable, DocumentModel {
          var title: String
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var title: Field<String> {
            Field("title")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Declared: DocumentValueCodable {
          static let documentFields = DocumentFields<Self>("title")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.title, at: 0)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.title
            }
            let value0 = try fields.read(type0, at: 0)
            self.title = value0
          }
        }
        """),
      // Raw values
      Expansion(
        "Code", "a structure with a raw value is that value",
        """
        @Document
        struct Code: RawRepresentable, Codable {
          var rawValue: String
        }
        """,
        """
        nonisolated extension Code: DocumentValueCodable {
        }
        """),
      Expansion(
        "Options", "a set of options is its number",
        """
        @Document
        struct Options: OptionSet, Codable {
          let rawValue: Int
        }
        """,
        """
        nonisolated extension Options: DocumentValueCodable {
        }
        """),
      Expansion(
        "Stamp", "a raw value that Codable does not write is a field",
        """
        @Document
        struct Stamp: RawRepresentable, Codable {
          var rawValue: Date
        }
        """,
        """
        nonisolated struct Fields: Sendable {
          var rawValue: Field<Date> {
            Field("rawValue")
          }
        }
        nonisolated static var fields: Fields {
          Fields()
        }
        nonisolated extension Stamp: DocumentValueCodable, DocumentCodable, DocumentModel {
          static let documentFields = DocumentFields<Self>("rawValue")
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            try fields.write(self.rawValue, at: 0)
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            let type0 = DocumentFields<Self>.type {
              $0.rawValue
            }
            let value0 = try fields.read(type0, at: 0)
            self.rawValue = value0
          }
        }
        """),
      Expansion(
        "Genre", "an enumeration with raw values is its raw value",
        """
        @Document
        enum Genre: String, Codable { case novel, essay }
        """,
        """
        nonisolated extension Genre: DocumentValueCodable {
        }
        """),
      // Enumerations
      Expansion(
        "Side", "a case without values is an empty map",
        """
        @Document
        public enum Side: Codable { case left, `default` }
        """,
        """
        nonisolated extension Side: DocumentValueCodable, DocumentCodable {
          public static let documentFields = DocumentFields<Self>("left", "default")
          nonisolated fileprivate enum DocumentCases {
            static let case0 = DocumentFields<Self>()
            static let case1 = DocumentFields<Self>()
          }
          public func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            switch self {
            case .left:
              try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
              }
            case .`default`:
              try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
              }
            }
          }
          public init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            switch try fields.onlyField() {
            case 0:
              self = try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.left
              }
            case 1:
              self = try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.`default`
              }
            default:
              throw UseCodable()
            }
          }
        }
        """),
      Expansion(
        "State", "a case is a map of its values",
        """
        @Document
        enum State: Codable {
          case lent(to: String, Int, since: Date? = nil)
          indirect case reserved(State)
        }
        """,
        """
        nonisolated extension State: DocumentValueCodable, DocumentCodable {
          static let documentFields = DocumentFields<Self>("lent", "reserved")
          nonisolated fileprivate enum DocumentCases {
            static let case0 = DocumentFields<Self>("to", "_1", "since")
            static let case1 = DocumentFields<Self>("_0")
          }
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            switch self {
            case .lent(let value0, let value1, let value2):
              try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
                try values.write(value0, at: 0)
                try values.write(value1, at: 1)
                try values.write(value2, at: 2)
              }
            case .reserved(let value0):
              try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
                try values.write(value0, at: 0)
              }
            }
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            switch try fields.onlyField() {
            case 0:
              self = try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.lent(to: try values.read(at: 0), try values.read(at: 1), since: try values.read(at: 2))
              }
            case 1:
              self = try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.reserved(try values.read(at: 0))
              }
            default:
              throw UseCodable()
            }
          }
        }
        """),
      Expansion(
        "Loan", "the names of a case and its values come from their keys",
        """
        @Document
        enum Loan: Codable {
          case stored
          case lent(to: String, times: Int = 1, since: Date)

          enum CodingKeys: String, CodingKey { case stored = "kept", lent }
          enum LentCodingKeys: String, CodingKey { case since, to = "reader" }
        }
        """,
        """
        nonisolated extension Loan: DocumentValueCodable, DocumentCodable {
          static let documentFields = DocumentFields<Self>("kept", "lent")
          nonisolated fileprivate enum DocumentCases {
            static let case0 = DocumentFields<Self>()
            static let case1 = DocumentFields<Self>("reader", "since")
          }
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            switch self {
            case .stored:
              try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
              }
            case .lent(let value0, _, let value2):
              try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
                try values.write(value0, at: 0)
                try values.write(value2, at: 1)
              }
            }
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            switch try fields.onlyField() {
            case 0:
              self = try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.stored
              }
            case 1:
              self = try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.lent(to: try values.read(at: 0), since: try values.read(at: 1))
              }
            default:
              throw UseCodable()
            }
          }
        }
        """),
      Expansion(
        "Either", "a generic enumeration has computed tables",
        """
        @Document
        enum Either<Left: Codable>: Codable {
          case left(Left), right(String)
        }
        """,
        """
        nonisolated extension Either: DocumentValueCodable, DocumentCodable {
          static var documentFields: DocumentFields<Self> {
            DocumentFields("left", "right")
          }
          nonisolated fileprivate enum DocumentCases {
            static var case0: DocumentFields<Self> {
              DocumentFields("_0")
            }
            static var case1: DocumentFields<Self> {
              DocumentFields("_0")
            }
          }
          func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
            switch self {
            case .left(let value0):
              try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
                try values.write(value0, at: 0)
              }
            case .right(let value0):
              try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapWriter) throws(UseCodable) in
                try values.write(value0, at: 0)
              }
            }
          }
          init(fields: borrowing DocumentMapReader) throws(UseCodable) {
            switch try fields.onlyField() {
            case 0:
              self = try fields.map(DocumentCases.case0, at: 0) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.left(try values.read(at: 0))
              }
            case 1:
              self = try fields.map(DocumentCases.case1, at: 1) {
              (values: borrowing DocumentMapReader) throws(UseCodable) -> Self in
                Self.right(try values.read(at: 0))
              }
            default:
              throw UseCodable()
            }
          }
        }
        """),
    ]

    private static func lines(_ text: some StringProtocol) -> [String] {
      text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        .filter { !$0.isEmpty }
    }

    @Test func `each kind of declaration has its expansion`() throws {
      let check = CompilerCheck(besides: Bundle(for: Here.self))
      let sources = Self.all.map { "import Foundation\nimport HearthMacros\n\n\($0.source)\n" }
      let (expansions, errors) = try check.expansions(in: [Self.models] + sources)
      #expect(errors.isEmpty)
      for expansion in Self.all {
        let mangled = "\(expansion.name.utf8.count)\(expansion.name)"
        // Those of members have an `m`, those of extensions an `e`.
        let found = expansions.filter { $0.file.contains(mangled) }.sorted { $0.file > $1.file }
        let lines = found.flatMap { $0.lines }
        #expect(
          Self.lines(lines.joined(separator: "\n")) == Self.lines(expansion.expected),
          "\(expansion.promise):\n\(lines.joined(separator: "\n"))")
      }
    }

    /// There, `nonisolated` does not count for the types inside of a type: the macro repeats it.
    @Test func `models compile in a module of the main actor`() throws {
      let source = """
        import Foundation
        import HearthMacros

        @Document
        nonisolated struct Book: Codable {
          var title: String
          var pages = 0
          var genre: Genre
          var state: State?
        }

        @Document
        nonisolated enum Genre: String, Codable { case novel, essay }

        @Document
        nonisolated enum State: Codable { case stored, lent(to: String) }

        nonisolated func long(_ books: TypedCollection<Book>) -> TypedQuery<Book> {
          books.where { $0.pages > 400 && $0.genre == .novel }
        }
        """
      let check = CompilerCheck(besides: Bundle(for: Here.self))
      let errors = try check.errors(in: [source], flags: ["-default-isolation", "MainActor"])
      #expect(errors.flatMap { $0 }.isEmpty, "\(errors)")
    }

    private final class Here {}
  }
#endif
