/// Fields of a document while they are changed. Only those that are looked at are decoded, and only
/// those that were changed are encoded: the bytes of all others are copied as they are.
///
///     stored:  author ── pages ── rating ── title
///     edits:             412      gone                       sorted by name, few
///     encoded: author ── pages ─────────── title
///
/// The bytes are those that decoding, changing and encoding the whole would give: values stand in
/// canonical form in what is stored, and the writer puts names in order.
struct FieldEdits: Sendable {
  private struct Edit {
    var name: String
    /// Nil for a field that is not there.
    var value: Value?
  }

  private let base: DocumentBody
  /// Names differ.
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

  /// Puts a value at a path; what is in the way and not a map becomes one. Nil removes, and then
  /// a missing step is nothing to do.
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
      // Held once only, so that it is changed in place.
      edits[index].value = nil
    } else if value == nil {
      return
    }
    inner.set(value, at: path.dropFirst())
    edits[index].value = .map(inner)
  }

  /// Throws `invalidArgument` for maps and arrays that nest deeper, or a document larger, than may be.
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

  /// Where the field stands among the edits, as it is stored if it was not looked at before.
  private mutating func load(_ name: String) throws(Status) -> Int {
    let (index, isThere) = position(of: name)
    if isThere { return index }
    let stored = try base.withView { fields throws(Status) in
      try fields.value(named: name)?.value(depthLeft: DocumentFormat.maximumDepth)
    }
    edits.insert(Edit(name: name, value: stored), at: index)
    return index
  }

  /// Where the name is, or where it would be inserted.
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
