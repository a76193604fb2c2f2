import Foundation

@testable import Hearth
@testable import HearthEngine

#if Macros
  import HearthMacros
#endif

/// Makes random instances, whole seconds and prices with cents, so that every strategy can keep them.
struct ModelGenerator {
  var random: FormatGenerator
  let firestore: Firestore
  /// The strategies at hand write infinities.
  var hasInfinities = false
  /// Names in dictionaries may begin with an underscore, which is left to `Codable`.
  var hasUnderscores = true

  mutating func below(_ bound: Int) -> Int { random.below(bound) }
  mutating func flag() -> Bool { below(2) == 0 }
  mutating func text() -> String { random.text(upTo: 12) }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
    switch below(4) {
    case 0: T(exactly: T.min) ?? 0
    case 1: T(exactly: T.max) ?? 0
    case 2: T(truncatingIfNeeded: below(100))
    default: T(truncatingIfNeeded: random.next())
    }
  }

  /// What an `Int64` holds.
  mutating func stored<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
    T(exactly: random.integer()) ?? T(truncatingIfNeeded: below(1000))
  }

  mutating func double() -> Double {
    if hasInfinities, below(4) == 0 { return flag() ? .infinity : -.infinity }
    let number = random.double()
    return number.isFinite ? number : 0.5
  }

  mutating func float() -> Float {
    if hasInfinities, below(4) == 0 { return .infinity }
    let number = Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))
    return number.isFinite ? number : 0.5
  }

  mutating func date() -> Date {
    Date(timeIntervalSince1970: Double(below(4_000_000_000) - 2_000_000_000))
  }
  mutating func data() -> Data { Data((0..<below(6)).map { _ in UInt8(below(256)) }) }
  mutating func decimal() -> Decimal { Decimal(below(2_000_000) - 1_000_000) / 100 }

  mutating func url() -> URL {
    URL(string: "https://example.org/\(below(1000))?q=\(below(10))#f") ?? URL(filePath: "/")
  }

  mutating func uuid() -> UUID {
    UUID(
      uuid: (
        UInt8(below(256)), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, UInt8(below(256))
      ))
  }

  mutating func timestamp() -> Timestamp { Timestamp(random.instant()) }

  mutating func point() -> GeoPoint {
    GeoPoint(latitude: Double(below(1441)) / 8 - 90, longitude: Double(below(2881)) / 8 - 180)
  }

  mutating func vector() -> VectorValue {
    VectorValue((0..<1 + below(5)).map { _ in Double(below(100)) / 8 })
  }

  mutating func reference() -> DocumentReference {
    firestore.document("people/p\(below(10))/letters/l\(below(10))")
  }

  mutating func maybe<T>(_ make: (inout ModelGenerator) -> T) -> T? { flag() ? make(&self) : nil }

  mutating func list<T>(_ make: (inout ModelGenerator) -> T) -> [T] {
    (0..<below(4)).map { _ in make(&self) }
  }

  mutating func named<T>(_ make: (inout ModelGenerator) -> T) -> [String: T] {
    let names =
      ["a", "camelCase", "snake_case", "URLString", "q_"] + (hasUnderscores ? ["_x"] : [])
    return Dictionary(
      (0..<below(4)).map { _ in (random.one(of: names), make(&self)) },
      uniquingKeysWith: { first, _ in first })
  }
}

/// A model of the catalogue.
protocol RandomModel: Codable, Equatable, SendableMetatype {
  static func make(_ random: inout ModelGenerator) -> Self
}

// MARK: Scalars

#if Macros
  @Document
#endif
struct Integers: RandomModel {
  var int: Int
  var int8: Int8
  var int16: Int16
  var int32: Int32
  var int64: Int64
  var int128: Int128
  var uint: UInt
  var uint8: UInt8
  var uint16: UInt16
  var uint32: UInt32
  var uint64: UInt64
  var uint128: UInt128
  var optional: Int128?
  var missing: UInt128?
  var listed: [Int128]
  var unsigned: [UInt64]
  var byName: [String: UInt128]

  static func make(_ random: inout ModelGenerator) -> Integers {
    Integers(
      int: random.integer(), int8: random.integer(), int16: random.integer(),
      int32: random.integer(), int64: random.integer(), int128: random.stored(),
      uint: random.stored(), uint8: random.integer(), uint16: random.integer(),
      uint32: random.integer(), uint64: random.stored(), uint128: random.stored(),
      optional: random.maybe { $0.stored() }, missing: random.maybe { $0.stored() },
      listed: random.list { $0.stored() }, unsigned: random.list { $0.stored() },
      byName: random.named { $0.stored() })
  }
}

#if Macros
  @Document
#endif
struct Scalars: RandomModel {
  var double: Double
  var float: Float
  var bool: Bool
  var text: String
  var doubles: [Double]
  var floats: [Float]
  var flags: [Bool]
  var texts: [String]
  var optional: Double?
  var optionalFlag: Bool?
  var gaps: [String?]
  /// A nil inside is the same as none: fields have one null.
  var twice: Int??

  static func make(_ random: inout ModelGenerator) -> Scalars {
    Scalars(
      double: random.double(), float: random.float(), bool: random.flag(), text: random.text(),
      doubles: random.list { $0.double() }, floats: random.list { $0.float() },
      flags: random.list { $0.flag() }, texts: random.list { $0.text() },
      optional: random.maybe { $0.double() }, optionalFlag: random.maybe { $0.flag() },
      gaps: random.list { $0.maybe { $0.text() } },
      twice: random.flag() ? .some(.some(random.below(9))) : .none)
  }
}

#if Macros
  @Document
#endif
struct Foundations: RandomModel {
  var date: Date
  var data: Data
  var url: URL
  var uuid: UUID
  var decimal: Decimal
  var dates: [Date]
  var datesByName: [String: Date]
  var dataByName: [String: Data]
  var urls: Set<URL>
  var decimals: [Decimal]
  var optionalDate: Date?
  var optionalData: Data?
  var optionalURL: URL?
  @ExplicitNull var nullDate: Date?
  @ExplicitNull var nullData: Data?

  enum CodingKeys: String, CodingKey {
    case date, data, url, uuid, decimal, dates, datesByName, dataByName, urls, decimals
    case optionalDate, optionalData, nullDate, nullData
    // Snake case cannot give back the capitals.
    case optionalURL = "optionalUrl"
  }

  static func make(_ random: inout ModelGenerator) -> Foundations {
    Foundations(
      date: random.date(), data: random.data(), url: random.url(), uuid: random.uuid(),
      decimal: random.decimal(), dates: random.list { $0.date() },
      datesByName: random.named { $0.date() }, dataByName: random.named { $0.data() },
      urls: Set(random.list { $0.url() }), decimals: random.list { $0.decimal() },
      optionalDate: random.maybe { $0.date() }, optionalData: random.maybe { $0.data() },
      optionalURL: random.maybe { $0.url() }, nullDate: random.maybe { $0.date() },
      nullData: random.maybe { $0.data() })
  }
}

/// Not where data is an array of numbers: arrays do not nest.
#if Macros
  @Document
#endif
struct DataLists: RandomModel {
  var data: [Data]
  var set: Set<Data>
  var gaps: [Data?]

  static func make(_ random: inout ModelGenerator) -> DataLists {
    DataLists(
      data: random.list { $0.data() }, set: Set(random.list { $0.data() }),
      gaps: random.list { $0.maybe { $0.data() } })
  }
}

// MARK: Kinds of types

#if Macros
  @Document
#endif
struct Kinds: RandomModel {
  #if Macros
    @Document
  #endif
  enum Color: String, Codable, CaseIterable { case red, deepBlue, green }
  #if Macros
    @Document
  #endif
  enum Level: Int8, Codable, CaseIterable { case low = -1, high = 100 }
  #if Macros
    @Document
  #endif
  enum Shape: Codable, Equatable {
    case point
    case circle(radius: Double)
    case labelled(String, at: GeoPoint, since: Date)
    indirect case group([String: Shape])
  }
  #if Macros
    @Document
  #endif
  struct Tag: RawRepresentable, Codable, Hashable { var rawValue: String }
  #if Macros
    @Document
  #endif
  struct Weight: RawRepresentable, Codable, Equatable { var rawValue: Double }
  /// Says itself how it is written.
  struct Money: Codable, Equatable {
    var cents: Int
    init(cents: Int) { self.cents = cents }
    init(from decoder: any Decoder) throws {
      var list = try decoder.unkeyedContainer()
      cents = try list.decode(Int.self) &* 100 &+ list.decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var list = encoder.unkeyedContainer()
      try list.encode(cents / 100)
      try list.encode(cents % 100)
    }
  }

  var color: Color
  var colors: Set<Color>
  var level: Level?
  var shape: Shape
  var shapes: [Shape]
  var tag: Tag
  var tags: Set<Tag>
  var weight: Weight?
  var money: Money
  var half: Range<Int>
  var closed: ClosedRange<Double>

  static func shape(_ random: inout ModelGenerator, depth: Int) -> Shape {
    switch random.below(depth > 0 ? 4 : 3) {
    case 0: .point
    case 1: .circle(radius: random.double())
    case 2: .labelled(random.text(), at: random.point(), since: random.date())
    default: .group(random.named { shape(&$0, depth: depth - 1) })
    }
  }

  static func make(_ random: inout ModelGenerator) -> Kinds {
    let start = random.below(100)
    return Kinds(
      color: random.random.one(of: Color.allCases),
      colors: Set(random.list { $0.random.one(of: Color.allCases) }),
      level: random.maybe { $0.random.one(of: Level.allCases) },
      shape: shape(&random, depth: 2), shapes: random.list { shape(&$0, depth: 1) },
      tag: Tag(rawValue: random.text()), tags: Set(random.list { Tag(rawValue: $0.text()) }),
      weight: random.maybe { Weight(rawValue: $0.double()) },
      money: Money(cents: random.below(100_000)), half: start..<start + random.below(50),
      closed: Double(start)...Double(start + random.below(50)))
  }
}

/// An enumeration as a document.
extension Kinds.Shape: RandomModel {
  static func make(_ random: inout ModelGenerator) -> Kinds.Shape {
    Kinds.shape(&random, depth: 2)
  }
}

#if Macros
  @Document
#endif
struct Dictionaries: RandomModel {
  #if Macros
    @Document
  #endif
  enum Plain: String, Codable, Hashable { case one, two }
  #if Macros
    @Document
  #endif
  enum Represented: String, Codable, Hashable, CodingKeyRepresentable { case firstKey, secondKey }
  #if Macros
    @Document
  #endif
  struct Code: RawRepresentable, Codable, Hashable, CodingKeyRepresentable { var rawValue: Int }

  var byName: [String: Int]
  var byNumber: [Int: String]
  /// An array of keys and values, one after another.
  var byPlain: [Plain: Int]
  var byRepresented: [Represented: Double]
  var byCode: [Code: [String]]
  var byIdentifier: [UUID: String]
  var deep: [String: [String: [Int]]]
  var optional: [String: Int?]

  static func make(_ random: inout ModelGenerator) -> Dictionaries {
    func few<Key: Hashable, Element>(
      _ keys: [Key], _ make: (inout ModelGenerator) -> Element
    ) -> [Key: Element] {
      var entries: [Key: Element] = [:]
      for key in keys where random.flag() { entries[key] = make(&random) }
      return entries
    }
    return Dictionaries(
      byName: random.named { $0.integer() },
      byNumber: few([-5, 0, 7, .max]) { $0.text() }, byPlain: few([.one, .two]) { $0.below(9) },
      byRepresented: few([.firstKey, .secondKey]) { $0.double() },
      byCode: few([Code(rawValue: 4), Code(rawValue: -4)]) { $0.list { $0.text() } },
      byIdentifier: few([random.uuid(), random.uuid()]) { $0.text() },
      deep: random.named { $0.named { $0.list { $0.below(9) } } },
      optional: random.named { $0.maybe { $0.below(9) } })
  }
}

// MARK: Structure

class Animal: Codable, Equatable {
  var legs: Int
  var born: Date

  init(legs: Int, born: Date) {
    self.legs = legs
    self.born = born
  }

  convenience init(_ random: inout ModelGenerator) {
    self.init(legs: random.below(100), born: random.date())
  }

  func isEqual(_ other: Animal) -> Bool { legs == other.legs && born == other.born }
  static func == (lhs: Animal, rhs: Animal) -> Bool { lhs.isEqual(rhs) && rhs.isEqual(lhs) }
}

/// Shares its encoder's map with its superclass.
class Pet: Animal {
  var petName: String

  enum CodingKeys: CodingKey { case petName }

  init(petName: String, legs: Int, born: Date) {
    self.petName = petName
    super.init(legs: legs, born: born)
  }

  required init(from decoder: any Decoder) throws {
    petName = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .petName)
    try super.init(from: decoder)
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(petName, forKey: .petName)
    try super.encode(to: encoder)
  }

  override func isEqual(_ other: Animal) -> Bool {
    super.isEqual(other) && (other as? Pet)?.petName == petName
  }
}

/// Gives its superclass a map of its own, and one of a name of its own.
final class Dog: Pet, RandomModel {
  var tricks: [String]
  var mother: Animal

  enum CodingKeys: CodingKey { case tricks, itsMother }

  init(tricks: [String], mother: Animal, petName: String, legs: Int, born: Date) {
    self.tricks = tricks
    self.mother = mother
    super.init(petName: petName, legs: legs, born: born)
  }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    tricks = try container.decode([String].self, forKey: .tricks)
    mother = try Animal(from: container.superDecoder(forKey: .itsMother))
    try super.init(from: container.superDecoder())
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try super.encode(to: container.superEncoder())
    try mother.encode(to: container.superEncoder(forKey: .itsMother))
    try container.encode(tricks, forKey: .tricks)
  }

  override func isEqual(_ other: Animal) -> Bool {
    guard let other = other as? Dog else { return false }
    return super.isEqual(other) && other.tricks == tricks && other.mother == mother
  }

  static func make(_ random: inout ModelGenerator) -> Dog {
    Dog(
      tricks: random.list { $0.text() }, mother: Animal(&random), petName: random.text(),
      legs: random.below(100), born: random.date())
  }
}

#if Macros
  @Document
#endif
struct Branch: RandomModel {
  var nodeName: String
  var grown: Date?
  var branches: [Branch]
  var byName: [String: Branch]

  static func make(_ random: inout ModelGenerator, depth: Int) -> Branch {
    Branch(
      nodeName: random.text(), grown: random.maybe { $0.date() },
      branches: depth > 0 ? random.list { make(&$0, depth: depth - 1) } : [],
      byName: depth > 0 ? random.named { make(&$0, depth: depth - 1) } : [:])
  }

  static func make(_ random: inout ModelGenerator) -> Branch { make(&random, depth: 2) }
}

#if Macros
  @Document
#endif
struct Page<Item: Codable & Equatable>: Codable, Equatable {
  var items: [Item]
  var nextPage: Item?
  var byName: [String: Item]

  init(_ random: inout ModelGenerator, _ make: (inout ModelGenerator) -> Item) {
    items = random.list(make)
    nextPage = random.maybe(make)
    byName = random.named(make)
  }
}

#if Macros
  @Document
#endif
struct Generics: RandomModel {
  var numbers: Page<Int16>
  var dates: Page<Date>
  var pages: Page<Page<String>>
  var branches: Page<Branch>

  static func make(_ random: inout ModelGenerator) -> Generics {
    Generics(
      numbers: Page(&random) { $0.integer() }, dates: Page(&random) { $0.date() },
      pages: Page(&random) { Page(&$0) { $0.text() } },
      branches: Page(&random) { Branch.make(&$0, depth: 1) })
  }
}

/// With default values, for which the macro writes `init(from:)`, and names of its own.
#if Macros
  @Document
#endif
struct Prefilled: RandomModel {
  var fullName = "nobody"
  let pageCount: Int
  var `default` = true, weight: Double = 0.5
  var tags: [String] = ["new"]
  var shape: Kinds.Shape = .point
  var note: String? = "none"
  var madeAt: Date = Date(timeIntervalSince1970: 0)
  @ServerTimestamp var seenAt: Date?
  @ExplicitNull var owner: Kinds.Money?
  /// No field.
  var observed = 0

  enum CodingKeys: String, CodingKey {
    case fullName = "name", pageCount = "pagesé", `default`, weight, tags, shape, note
    case madeAt, seenAt, owner
  }

  static func make(_ random: inout ModelGenerator) -> Prefilled {
    Prefilled(
      fullName: random.text(), pageCount: random.integer(), default: random.flag(),
      weight: random.double(), tags: random.list { $0.text() },
      shape: Kinds.shape(&random, depth: 1), note: random.maybe { $0.text() },
      madeAt: random.date(), seenAt: random.date(),
      owner: random.maybe { Kinds.Money(cents: $0.below(100_000)) })
  }
}

/// Asks for its containers twice, in turns, and flattens what it holds.
struct Flattened: RandomModel {
  var first: Int
  var second: String
  var third: Date
  var listed: [Int]

  enum OuterKeys: CodingKey { case innerMap, innerList }
  enum InnerKeys: CodingKey { case firstValue, secondValue, deepMap }

  static func make(_ random: inout ModelGenerator) -> Flattened {
    Flattened(
      first: random.integer(), second: random.text(), third: random.date(),
      listed: random.list { $0.integer() })
  }

  init(first: Int, second: String, third: Date, listed: [Int]) {
    self.first = first
    self.second = second
    self.third = third
    self.listed = listed
  }

  init(from decoder: any Decoder) throws {
    let outer = try decoder.container(keyedBy: OuterKeys.self)
    let inner = try outer.nestedContainer(keyedBy: InnerKeys.self, forKey: .innerMap)
    let again = try decoder.container(keyedBy: OuterKeys.self)
      .nestedContainer(keyedBy: InnerKeys.self, forKey: .innerMap)
    second = try again.decode(String.self, forKey: .secondValue)
    first = try inner.decode(Int.self, forKey: .firstValue)
    third = try inner.nestedContainer(keyedBy: InnerKeys.self, forKey: .deepMap)
      .decode(Date.self, forKey: .firstValue)
    var list = try outer.nestedUnkeyedContainer(forKey: .innerList)
    listed = []
    while !list.isAtEnd { listed.append(try list.decode(Int.self)) }
  }

  func encode(to encoder: any Encoder) throws {
    var outer = encoder.container(keyedBy: OuterKeys.self)
    var inner = outer.nestedContainer(keyedBy: InnerKeys.self, forKey: .innerMap)
    var list = outer.nestedUnkeyedContainer(forKey: .innerList)
    try inner.encode(first, forKey: .firstValue)
    for number in listed { try list.encode(number) }
    var again = outer.nestedContainer(keyedBy: InnerKeys.self, forKey: .innerMap)
    try again.encode(second, forKey: .secondValue)
    var deep = inner.nestedContainer(keyedBy: InnerKeys.self, forKey: .deepMap)
    try deep.encode(third, forKey: .firstValue)
  }
}

// MARK: Firestore's types

#if Macros
  @Document
#endif
struct Offices: RandomModel {
  #if Macros
    @Document
  #endif
  struct Desk: Codable, Equatable {
    @DocumentID var office: String?
    @ExplicitNull var owner: String?
    @ExplicitNull var moved: Date?
    @ServerTimestamp var bought: Date?
    @ServerTimestamp var sold: Timestamp?
  }

  @DocumentID var id: String?
  @DocumentID var itself: DocumentReference?
  var openedAt: Timestamp
  var place: GeoPoint
  var embedding: VectorValue
  var lead: DocumentReference
  var desks: [Desk]
  var byName: [String: Desk]
  var times: [Timestamp]
  var places: [String: GeoPoint]
  var people: [DocumentReference]
  var maybePlace: GeoPoint?
  var maybePerson: DocumentReference?
  @ExplicitNull var nullPlace: GeoPoint?
  @ExplicitNull var nullVector: VectorValue?

  static func desk(_ random: inout ModelGenerator) -> Desk {
    // A server timestamp is a Timestamp whatever becomes of dates.
    Desk(
      owner: random.maybe { $0.text() }, moved: random.maybe { $0.date() }, bought: random.date(),
      sold: random.timestamp())
  }

  static func make(_ random: inout ModelGenerator) -> Offices {
    Offices(
      openedAt: random.timestamp(), place: random.point(), embedding: random.vector(),
      lead: random.reference(), desks: random.list { desk(&$0) },
      byName: random.named { desk(&$0) }, times: random.list { $0.timestamp() },
      places: random.named { $0.point() }, people: random.list { $0.reference() },
      maybePlace: random.maybe { $0.point() }, maybePerson: random.maybe { $0.reference() },
      nullPlace: random.maybe { $0.point() }, nullVector: random.maybe { $0.vector() })
  }
}
