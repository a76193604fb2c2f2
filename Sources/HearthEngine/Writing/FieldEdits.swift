internal import HearthText

/// The fields of a document while they are edited. Only fields that are read are decoded, and only
/// values that were set are encoded: the bytes of all others are copied.
///
///     stored:  author ── pages ── rating ── title
///     edits:             412      gone                       sorted by name, few
///     encoded: author ── pages ─────────── title
///
/// The result is the same as decoding, changing and encoding the whole document: stored values are
/// in canonical form, and the writer sorts the names.
struct FieldEdits: Sendable {
  private struct Edit {
    var name: String
    /// Nil if there is no such field.
    var value: Value?
    /// Has the field, or lacks it, while that is not decoded.
    var source: DocumentBody?
  }

  private let base: DocumentBody
  /// Sorted by name; each name occurs once.
  private var edits: [Edit] = []

  init(of base: DocumentBody) { self.base = base }

  /// The value at a path; nil if any step of it is missing or not a map.
  mutating func value(at path: [String]) throws(Status) -> Value? {
    guard let first = path.first else { return nil }
    let value = edits[try load(first)].value
    guard path.count > 1 else { return value }
    guard case .map(let inner)? = value else { return nil }
    return inner.value(at: path.dropFirst())
  }

  /// Sets the value at a path. A value on the way that is not a map is replaced by one. Nil removes
  /// the field, and does nothing if a step is missing or not a map.
  mutating func set(_ value: Value?, at path: [String]) throws(Status) {
    guard let first = path.first else { return }
    guard path.count > 1 else { return put(Edit(name: first, value: value)) }
    let index = try load(first)
    var inner = MapValue()
    if case .map(let existing)? = edits[index].value {
      inner = existing
      // Leaves one reference to the map, so that it is changed in place.
      edits[index].value = nil
    } else if value == nil {
      return
    }
    inner.set(value, at: path.dropFirst())
    edits[index].value = .map(inner)
  }

  /// Sets the fields of a mask to their values in a body, and removes those that it lacks. The bytes of whole fields
  /// are copied: `DocumentBody.checkFields` has to accept them.
  mutating func set(_ mask: [FieldSegments], to body: DocumentBody) throws(Status) {
    for field in mask {
      if field.names.count == 1 {
        put(Edit(name: field.names[0], source: body))
      } else {
        let value = try body.withView { map throws(Status) in try map.value(at: field)?.value() }
        try set(value, at: field.names)
      }
    }
  }

  /// Throws `invalidArgument` if maps and arrays nest too deep, or if the document is too large.
  func encoded() throws(Status) -> DocumentBody {
    for edit in edits {
      if let value = edit.value { try Limits.checkNesting(value) }
    }
    let writer = DocumentWriter.borrow()
    defer { writer.giveBack() }
    try base.withView { fields throws(Status) in
      writer.beginMap()
      var next = 0
      for index in 0..<fields.count {
        let name = try fields.name(at: index)
        var isReplaced = false
        while next < edits.count {
          let order = edits[next].name.withUTF8Bytes { UTF8Order.compare($0, name) }
          if order > 0 { break }
          try write(edits[next], to: writer)
          next += 1
          isReplaced = order == 0
        }
        if isReplaced { continue }
        writer.field(name)
        writer.canonical(try fields.value(at: index))
      }
      for edit in edits[next...] { try write(edit, to: writer) }
      writer.endMap()
    }
    return try writer.finish()
  }

  private func write(_ edit: Edit, to writer: DocumentWriter) throws(Status) {
    if let value = edit.value {
      writer.field(edit.name)
      writer.value(value)
    }
    try edit.source?.withView { fields throws(Status) in
      guard let value = try fields.value(named: edit.name) else { return }
      writer.field(edit.name)
      writer.canonical(value)
    }
  }

  private mutating func put(_ edit: Edit) {
    let (index, isThere) = position(of: edit.name)
    if isThere { edits[index] = edit } else { edits.insert(edit, at: index) }
  }

  /// Index of the field's edit. Decodes the value on first use.
  private mutating func load(_ name: String) throws(Status) -> Int {
    let (index, isThere) = position(of: name)
    guard let source = isThere ? edits[index].source : base else { return index }
    let value = try source.withView { fields throws(Status) in
      try fields.value(named: name)?.value()
    }
    put(Edit(name: name, value: value))
    return index
  }

  /// Index of the name, or where it would be inserted.
  private func position(of name: String) -> (index: Int, isThere: Bool) {
    edits.indices.position { UTF8Order.compare(edits[$0].name, name) }
  }
}
