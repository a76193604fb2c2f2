extension StructuredQuery {
  /// The documents of a collection, and all documents below them.
  package init(recursivelyIn collection: ResourcePath) {
    self.init(.subtree(below: collection.parent))
    orders = [Order(field: .documentID)]
    // From the lowest id of this collection to the lowest id of the next possible collection.
    let lowest = "__id\(Int64.min)__"
    let next = collection.parent.appending(ResourcePath.idAfter(collection.id))
    start = Bound(values: [.reference(collection.appending(lowest))], isBefore: true)
    end = Bound(values: [.reference(next.appending(lowest))], isBefore: true)
  }
}

extension ResourcePath {
  /// The lowest id that is greater than this one.
  fileprivate static func idAfter(_ id: String) -> String {
    guard let number = numericID(id) else { return id + "\0" }
    // Numeric ids sort before all others; none of them is zero.
    if number == .max { return "\0" }
    return "__id\(number == -1 ? 1 : number + 1)__"
  }
}
