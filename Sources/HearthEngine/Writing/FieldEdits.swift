/// The fields of a document while they are edited. Only fields that are read are decoded, and only
/// fields that change are encoded: the bytes of all others are copied.
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
    guard path.count > 1 else {
      let (index, isThere) = position(of: first)
      if isThere {
        edits[index].value = value
      } else {
        edits.insert(Edit(name: first, value: value), at: index)
      }
      return
    }
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
          put(edits[next], to: writer)
          next += 1
          isReplaced = order == 0
        }
        if isReplaced { continue }
        writer.field(name)
        writer.canonical(try fields.value(at: index))
      }
      for edit in edits[next...] { put(edit, to: writer) }
      writer.endMap()
    }
    return try writer.finish()
  }

  private func put(_ edit: Edit, to writer: DocumentWriter) {
    guard let value = edit.value else { return }
    writer.field(edit.name)
    writer.value(value)
  }

  /// Index of the field's edit. Loads the stored value on first use.
  private mutating func load(_ name: String) throws(Status) -> Int {
    let (index, isThere) = position(of: name)
    if isThere { return index }
    let stored = try base.withView { fields throws(Status) in
      try fields.value(named: name)?.value(depthLeft: DocumentFormat.maximumDepth)
    }
    edits.insert(Edit(name: name, value: stored), at: index)
    return index
  }

  /// Index of the name, or where it would be inserted.
  private func position(of name: String) -> (index: Int, isThere: Bool) {
    var low = 0
    var high = edits.count
    while low < high {
      let middle = (low + high) / 2
      let order = UTF8Order.compare(edits[middle].name, name)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }
}
