/// The changes that a program has made to a document, found in the stored bytes: identical values have equal bytes.
extension DocumentBody {
  /// The names of fields that are not in `other` or have another value there, and of fields that only `other` has.
  ///
  /// - Parameter isSet: Whether the order of a field's elements makes no difference.
  package func differences(
    from other: DocumentBody, isSet: (String) -> Bool
  ) throws(Status) -> (changed: [String], missing: [String]) {
    var (changed, missing): ([String], [String]) = ([], [])
    try withView { own throws(Status) in
      try other.withView { other throws(Status) in
        for index in 0..<own.count {
          let name = try own.nameString(at: index)
          let value = try own.value(at: index)
          if let before = try other.value(named: own.name(at: index)) {
            if value.isIdentical(to: before) { continue }
            if isSet(name), try value.hasElements(of: before) { continue }
          }
          changed.append(name)
        }
        for index in 0..<other.count {
          if try own.index(of: other.name(at: index)) != nil { continue }
          missing.append(try other.nameString(at: index))
        }
      }
    }
    return (changed, missing)
  }

  /// The document with only these fields. Maps in them also get the keys that `read` has there and `known` lacks.
  package func selecting(
    _ names: [String], addingKeysOf read: DocumentBody, unknownIn known: DocumentBody
  ) throws(Status) -> DocumentBody {
    var edits = FieldEdits(of: .empty)
    try edits.set(names.map { FieldSegments([$0]) }, to: self)
    for name in names {
      guard let map = try map(named: name), let read = try read.map(named: name),
        let known = try known.map(named: name)
      else { continue }
      try edits.set(.map(map.addingKeys(of: read, unknownIn: known)), at: [name])
    }
    return try edits.encoded()
  }

  /// The value of a field, decoded, if it is a map.
  private func map(named name: String) throws(Status) -> MapValue? {
    try withView { fields throws(Status) in try fields.value(named: name)?.map()?.value() }
  }
}

extension MapValue {
  fileprivate func addingKeys(of read: MapValue, unknownIn known: MapValue) -> MapValue {
    var map = self
    for field in read.fields {
      switch (map[field.name], field.value, known[field.name]) {
      case (nil, let value, nil): map[field.name] = value
      case (.map(let inner)?, .map(let read), .map(let known)?):
        map[field.name] = .map(inner.addingKeys(of: read, unknownIn: known))
      default: break
      }
    }
    return map
  }
}

extension ValueView {
  /// Whether both are arrays of identical elements, in any order.
  fileprivate func hasElements(of other: ValueView) throws(Status) -> Bool {
    guard let own = try array(), let other = try other.array(), own.count == other.count else {
      return false
    }
    return try own.sortedElements() == other.sortedElements()
  }
}

extension ArrayView {
  fileprivate func sortedElements() throws(Status) -> [[UInt8]] {
    var rest = self
    var elements: [[UInt8]] = []
    for _ in 0..<count { elements.append([UInt8](try rest.next().bytes)) }
    return elements.sorted { $0.lexicographicallyPrecedes($1) }
  }
}
