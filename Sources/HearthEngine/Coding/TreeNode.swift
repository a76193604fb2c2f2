import Foundation

/// A value whose kind is not decided until it is encoded. See `TreeEncoder`.
final class TreeNode {
  enum Content {
    case empty
    case value(Value)
    /// Only in structures: an object that is kept as it is.
    case object(Any)
    case map, array
    /// Only in documents.
    case transform(FieldTransform)
    case none
  }

  var content: Content
  /// A map's fields, or an array's elements.
  private var children: [TreeNode] = []
  /// The field names of a map, one for each child.
  private var names: [String] = []
  /// The index of each name's child. Empty while searching the names is as quick.
  private var positions: [BytewiseString: Int] = [:]
  private static let mostSearchedNames = 16

  init(_ content: Content = .empty) { self.content = content }

  func becomeMap() -> Bool {
    switch content {
    case .empty: content = .map
    case .map: break
    default: return false
    }
    return true
  }

  func becomeArray() -> Bool {
    switch content {
    case .empty: content = .array
    case .array: break
    default: return false
    }
    return true
  }

  // MARK: - Fields and elements

  func field(_ name: String) -> TreeNode? { position(of: name).map { children[$0] } }

  /// Replaces the field with that name, or adds it. Does nothing if this is not a map.
  func put(_ node: TreeNode, _ name: String) {
    guard case .map = content else { return }
    if let position = position(of: name) {
      children[position] = node
      return
    }
    children.append(node)
    names.append(name)
    if names.count == TreeNode.mostSearchedNames {
      for (position, name) in names.enumerated() { positions[BytewiseString(name)] = position }
    } else if names.count > TreeNode.mostSearchedNames {
      positions[BytewiseString(name)] = names.count - 1
    }
  }

  private func position(of name: String) -> Int? {
    names.count < TreeNode.mostSearchedNames
      ? names.firstIndex { UTF8Order.areEqual($0, name) } : positions[BytewiseString(name)]
  }

  /// Does nothing if this is not an array.
  func append(_ node: TreeNode) {
    if case .array = content { children.append(node) }
  }

  /// The number of elements of an array; otherwise 0.
  var count: Int {
    if case .array = content { return children.count }
    return 0
  }

  // MARK: - As a document

  func write(
    to writer: DocumentWriter, _ document: inout EncodedDocument, isElement: Bool = false
  ) {
    switch content {
    case .empty:
      writer.beginMap()
      writer.endMap()
    case .value(let value):
      if isElement, case .array = value { note(EncodingRules.nestedArrays, &document) }
      writer.value(value)
    case .map:
      writer.beginMap()
      noteDepth(writer, &document)
      for (name, field) in zip(names, children) {
        writer.field(name)
        if let validationError = EncodingRules.validationError(
          ofName: name, path: writer.openPath())
        {
          note(validationError, &document)
        }
        field.write(to: writer, &document)
      }
      writer.endMap()
    case .array:
      writer.beginArray()
      noteDepth(writer, &document)
      if isElement { note(EncodingRules.nestedArrays, &document) }
      for element in children {
        writer.element()
        element.write(to: writer, &document, isElement: true)
      }
      writer.endArray()
    case .transform(let transform):
      if let path = writer.openPath() {
        document.transforms.append((FieldSegments(path), transform))
      } else {
        note(EncodingRules.sentinelInArray(transform), &document)
        writer.null()
      }
    case .none, .object: break
    }
  }

  private func noteDepth(_ writer: DocumentWriter, _ document: inout EncodedDocument) {
    if writer.depth > DocumentFormat.maximumDepth + 1 { note(EncodingRules.tooDeep, &document) }
  }

  private func note(_ validationError: Status, _ document: inout EncodedDocument) {
    document.validationError = document.validationError ?? validationError
  }

  // MARK: - As a structure

  /// Throws `invalidArgument` if two names of a map are the same `String` but differ in bytes.
  func structure() throws(Status) -> Any {
    switch content {
    case .value(let value):
      return AnyBridge.any(value) { _ in
        preconditionFailure("A structure has objects as references.")
      }
    case .object(let object): return object
    case .array:
      var elements: [Any] = []
      elements.reserveCapacity(children.count)
      for element in children { elements.append(try element.structure()) }
      return elements
    case .empty, .map, .transform, .none:
      var fields: [String: Any] = [:]
      fields.reserveCapacity(children.count)
      for (name, field) in zip(names, children) {
        if case .none = field.content { continue }
        guard fields.updateValue(try field.structure(), forKey: name) == nil else {
          throw .invalidArgument(
            "Invalid data. Two names of a map are one String to Swift, and have other bytes (beside "
              + "field \(name)). A dictionary cannot hold both.")
        }
      }
      return fields
    }
  }
}
