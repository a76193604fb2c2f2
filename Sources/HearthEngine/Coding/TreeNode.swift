import Foundation

/// A value that may still become one thing or another. See `TreeEncoder`.
final class TreeNode {
  enum Content {
    case empty
    case value(Value)
    /// Only in structures: what goes into them as it is.
    case object(Any)
    case map, array
    /// Only in documents.
    case transform(FieldTransform)
    case none
  }

  var content: Content
  /// A map's fields, or an array's elements.
  private var children: [TreeNode] = []
  /// A map's, one for each child.
  private var names: [String] = []
  /// Where a name's child is. Empty as long as searching the names is as quick.
  private var places: [BytewiseString: Int] = [:]
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

  func field(_ name: String) -> TreeNode? { place(of: name).map { children[$0] } }

  /// In place of the field that had the name. Nothing if this is no map.
  func put(_ node: TreeNode, _ name: String) {
    guard case .map = content else { return }
    if let place = place(of: name) {
      children[place] = node
      return
    }
    children.append(node)
    names.append(name)
    if names.count == TreeNode.mostSearchedNames {
      for (place, name) in names.enumerated() { places[BytewiseString(name)] = place }
    } else if names.count > TreeNode.mostSearchedNames {
      places[BytewiseString(name)] = names.count - 1
    }
  }

  private func place(of name: String) -> Int? {
    names.count < TreeNode.mostSearchedNames
      ? names.firstIndex { UTF8Order.areEqual($0, name) } : places[BytewiseString(name)]
  }

  /// Nothing if this is no array.
  func append(_ node: TreeNode) {
    if case .array = content { children.append(node) }
  }

  /// How many elements, if it is an array.
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
        if let fault = EncodingRules.fault(ofName: name, path: writer.openPath()) {
          note(fault, &document)
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

  private func note(_ fault: Status, _ document: inout EncodedDocument) {
    document.fault = document.fault ?? fault
  }

  // MARK: - As a structure

  /// Throws `invalidArgument` if two names of a map are one `String` of other bytes.
  func structure() throws(Status) -> Any {
    switch content {
    case .value(let value): return TreeNode.plain(value)
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

  private static func plain(_ value: Value) -> Any {
    switch value {
    case .boolean(let flag): NSNumber(value: flag)
    case .integer(let number): NSNumber(value: number)
    case .double(let number): NSNumber(value: number)
    case .string(let string): string
    case .bytes(let bytes): Data(bytes)
    case .null: NSNull()
    case .timestamp, .reference, .geoPoint, .array, .vector, .map:
      preconditionFailure("A structure has objects, arrays and maps where a document has these.")
    }
  }
}
