@testable import HearthEngine

// Conformances by hand, of models that code themselves: the macro is not for them.

extension Kinds.Money: DocumentValueCodable {
  func write(to writer: borrowing DocumentValueWriter) throws(UseCodable) {
    try writer.array { list throws(UseCodable) in
      try list.write(cents / 100)
      try list.write(cents % 100)
    }
  }

  init(reading reader: borrowing DocumentValueReader) throws(UseCodable) {
    var list = try reader.array()
    guard let first = try list.next() else { throw UseCodable() }
    let units = try Int(reading: first)
    guard let second = try list.next() else { throw UseCodable() }
    self.init(cents: units &* 100 &+ (try Int(reading: second)))
  }
}

/// A subclass, whose superclass has a map of its own. The mother may be any animal, and is left to
/// `Codable`.
extension Dog: DocumentCodable {
  static let documentFields = DocumentFields<Dog>("itsMother", "super", "tricks")
  private static let petFields = DocumentFields<Pet>("born", "legs", "petName")

  func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
    try fields.write(mother, at: 0)
    try fields.map(Dog.petFields, at: 1) { pet throws(UseCodable) in
      try pet.write(born, at: 0)
      try pet.write(legs, at: 1)
      try pet.write(petName, at: 2)
    }
    try fields.write(tricks, at: 2)
  }

  convenience init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    let mother: Animal = try fields.read(at: 0)
    let tricks: [String] = try fields.read(at: 2)
    self.init(
      try fields.map(Dog.petFields, at: 1) { pet throws(UseCodable) in
        Dog(
          tricks: tricks, mother: mother, petName: try pet.read(at: 2), legs: try pet.read(at: 1),
          born: try pet.read(at: 0))
      })
  }

  private convenience init(_ other: Dog) {
    self.init(
      tricks: other.tricks, mother: other.mother, petName: other.petName, legs: other.legs,
      born: other.born)
  }
}

extension Flattened: DocumentCodable {
  static let documentFields = DocumentFields<Flattened>("innerList", "innerMap")
  private static let innerFields = DocumentFields<Flattened>(
    "deepMap", "firstValue", "secondValue")
  private static let deepFields = DocumentFields<Flattened>("firstValue")

  func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {
    try fields.write(listed, at: 0)
    try fields.map(Self.innerFields, at: 1) { inner throws(UseCodable) in
      try inner.map(Self.deepFields, at: 0) { deep throws(UseCodable) in
        try deep.write(third, at: 0)
      }
      try inner.write(first, at: 1)
      try inner.write(second, at: 2)
    }
  }

  init(fields: borrowing DocumentMapReader) throws(UseCodable) {
    let listed: [Int] = try fields.read(at: 0)
    self = try fields.map(Self.innerFields, at: 1) { inner throws(UseCodable) in
      Flattened(
        first: try inner.read(at: 1), second: try inner.read(at: 2),
        third: try inner.map(Self.deepFields, at: 0) { deep throws(UseCodable) in
          try deep.read(at: 0)
        },
        listed: listed)
    }
  }
}
