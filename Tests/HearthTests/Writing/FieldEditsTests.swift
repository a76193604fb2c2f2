import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

/// Editing the stored bytes gives what decoding, changing and encoding the whole gives.
@Suite struct FieldEditsTests {
  @Test func `edited bytes are those of the edited document`() throws {
    for seed in 0..<(Soak.isOn ? 200_000 : 4000) as Range<UInt64> {
      var generator = FormatGenerator(seed: seed)
      var whole = MapValue(generator.fields(upTo: 12))
      let body = try DocumentBody(encoding: whole)
      var edits = FieldEdits(of: body)
      for _ in 0..<generator.below(7) {
        let path = path(&generator, in: whole)
        let found = try edits.value(at: path)
        #expect(found == whole.value(at: path), "seed \(seed), \(path)")
        // A third looks only.
        guard generator.below(3) > 0 else { continue }
        let value = generator.below(4) == 0 ? nil : generator.value()
        try edits.set(value, at: path)
        whole.set(value, at: path)
      }
      #expect(try edits.encoded() == DocumentBody(encoding: whole), "seed \(seed)")
    }
  }

  @Test func `the fields of a mask are set as if their values were decoded`() throws {
    for seed in 0..<(Soak.isOn ? 100_000 : 2000) as Range<UInt64> {
      var generator = FormatGenerator(seed: seed)
      var whole = MapValue(generator.fields(upTo: 8))
      var edits = FieldEdits(of: try DocumentBody(encoding: whole))
      for _ in 0..<1 + generator.below(3) {
        let values = MapValue(generator.fields(upTo: 8))
        let mask = (0..<generator.below(6)).map { _ in
          FieldSegments(path(&generator, in: generator.below(2) == 0 ? whole : values))
        }
        try edits.set(mask, to: DocumentBody(encoding: values))
        for field in mask { whole.set(values.value(at: field.names), at: field.names) }
        // Some edits are read before the next ones.
        let looked = path(&generator, in: whole)
        guard generator.below(2) == 0 else { continue }
        #expect(try edits.value(at: looked) == whole.value(at: looked), "seed \(seed), \(looked)")
      }
      #expect(try edits.encoded() == DocumentBody(encoding: whole), "seed \(seed)")
    }
  }

  /// Names that are there, that are not, and ways through what is no map.
  private func path(_ generator: inout FormatGenerator, in map: MapValue) -> [String] {
    var path: [String] = []
    var here: MapValue? = map
    repeat {
      let names = here?.fields.map(\.name) ?? []
      let name =
        names.isEmpty || generator.below(3) == 0 ? generator.name() : generator.one(of: names)
      path.append(name)
      if case .map(let inner)? = here?[name] { here = inner } else { here = nil }
    } while generator.below(here == nil ? 5 : 2) == 0
    return path
  }

  /// The ends of names and values take one, two or four bytes.
  @Test func `a document grows and shrinks across every width`() throws {
    for (count, length) in [(3, 80), (200, 1), (300, 300), (2, 70_000)] {
      let text = Value.string(String(repeating: "x", count: length))
      let whole = MapValue((0..<count).map { ("field\($0)", text) })
      var edits = FieldEdits(of: .empty)
      for field in whole.fields.reversed() { try edits.set(field.value, at: [field.name]) }
      let grown = try edits.encoded()
      #expect(try grown == DocumentBody(encoding: whole))
      edits = FieldEdits(of: grown)
      for field in whole.fields.dropFirst() { try edits.set(nil, at: [field.name]) }
      #expect(try edits.encoded() == DocumentBody(encoding: MapValue([("field0", text)])))
      try edits.set(nil, at: ["field0"])
      #expect(try edits.encoded() == .empty)
    }
  }

  @Test func `what nests too deep is refused`() throws {
    let deep = (0..<20).reduce(Value.integer(1)) { value, _ in .map(MapValue([("m", value)])) }
    let body = try DocumentBody(encoding: MapValue([("d", deep), ("n", .null)]))
    var edits = FieldEdits(of: body)
    try edits.set(.integer(2), at: ["n"])
    #expect(throws: Never.self) { try edits.encoded() }
    try edits.set(.array([]), at: ["d"] + [String](repeating: "m", count: 20))
    let error = #expect(throws: Status.self) { try edits.encoded() }
    #expect(error?.code == .invalidArgument)
  }

  @Test func `damage in a field that is kept is not copied`() throws {
    let fixture = try StoreFixture()
    _ = try fixture.commitTogether([
      [try fixture.set("a/1", ("n", .integer(1)), ("z", .string("kept")))]
    ])[0].get()
    let key = fixture.name("a/1").key.bytes
    try fixture.damage(fixture.store.tables.documents, key)
    let update = Mutation(
      path: fixture.name("a/1").path,
      operation: .patch(MapValue([("n", .integer(2))]), mask: [FieldSegments(["n"])]))
    let error = #expect(throws: Status.self) { try fixture.commitTogether([[update]])[0].get() }
    #expect(error?.code == .dataLoss)
    // It can be replaced as a whole.
    let whole = try fixture.set("a/1", ("n", .integer(3)))
    #expect(throws: Never.self) { try fixture.commitTogether([[whole]])[0].get() }
    #expect(throws: Never.self) { try fixture.commitTogether([[update]])[0].get() }
  }
}
