extension StructuredQuery {
  /// Keeps only the projected fields of a document; nil if the projection is empty and keeps all.
  package var projecting: ((StoredDocument) throws(Status) -> StoredDocument)? {
    guard let projection = Projection(projection) else { return nil }
    return { document throws(Status) in try projection.applied(to: document) }
  }
}

/// The fields of a query's results, as a tree of names.
package struct Projection {
  private enum Node {
    case whole
    case part([(name: String, node: Node)])
  }

  private let root: Node

  /// Nil if `fields` is empty: results keep all fields. The name is part of every result;
  /// projecting it adds no field.
  package init?(_ fields: [FieldSegments]) {
    guard !fields.isEmpty else { return nil }
    root = .part(
      Projection.children(fields.filter { !$0.isDocumentID }.map { $0.names[...] }))
  }

  private static func children(_ paths: [ArraySlice<String>]) -> [(name: String, node: Node)] {
    var order: [String] = []
    var below: [Value: [ArraySlice<String>]] = [:]
    for path in paths {
      guard let name = path.first else { continue }
      if below[.string(name)] == nil { order.append(name) }
      below[.string(name), default: []].append(path.dropFirst())
    }
    return order.map { name in
      let paths = below[.string(name)] ?? []
      return (name, paths.contains(where: \.isEmpty) ? .whole : .part(children(paths)))
    }
  }

  package func applied(to document: StoredDocument) throws(Status) -> StoredDocument {
    StoredDocument(
      path: document.path, sequence: document.sequence, createTime: document.createTime,
      updateTime: document.updateTime, body: try applied(to: document.body))
  }

  package func applied(to body: DocumentBody) throws(Status) -> DocumentBody {
    try body.withView { view throws(Status) in
      let writer = DocumentWriter.borrow()
      defer { writer.giveBack() }
      try Projection.write(root, of: view, to: writer)
      return try writer.finish()
    }
  }

  private static func write(
    _ node: Node, of map: MapView, to writer: DocumentWriter
  ) throws(Status) {
    guard case .part(let children) = node else { return }
    writer.beginMap()
    for (name, child) in children {
      guard let value = try map.value(named: name) else { continue }
      if case .whole = child {
        writer.field(name)
        writer.canonical(value)
      } else if let inner = try value.map() {
        guard try isThere(child, in: inner) else { continue }
        writer.field(name)
        try write(child, of: inner, to: writer)
      }
    }
    writer.endMap()
  }

  /// Whether the map has any of the projected fields; a map that has none is left out.
  private static func isThere(_ node: Node, in map: MapView) throws(Status) -> Bool {
    guard case .part(let children) = node else { return true }
    for (name, child) in children {
      guard let value = try map.value(named: name) else { continue }
      if case .whole = child { return true }
      guard let inner = try value.map() else { continue }
      if try isThere(child, in: inner) { return true }
    }
    return false
  }
}
