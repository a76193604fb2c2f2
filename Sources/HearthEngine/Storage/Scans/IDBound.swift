/// A bound on names, reduced to one collection.
enum IDBound: Equatable {
  /// All documents are within the bound.
  case everything
  case nothing
  case id(String)

  var id: String? { if case .id(let id) = self { id } else { nil } }

  init(lower bound: ResourcePath?, in collection: ResourcePath) {
    self.init(bound, collection, ifBefore: .everything, ifBehind: .nothing)
  }

  init(upper bound: ResourcePath?, in collection: ResourcePath) {
    self.init(bound, collection, ifBefore: .nothing, ifBehind: .everything)
  }

  private init(
    _ bound: ResourcePath?, _ collection: ResourcePath, ifBefore: IDBound, ifBehind: IDBound
  ) {
    guard let bound else {
      self = .everything
      return
    }
    for (index, segment) in collection.segments.enumerated() {
      let order =
        index < bound.segments.count
        ? ResourcePath.compare(segment: bound.segments[index], segment) : -1
      if order != 0 {
        self = order < 0 ? ifBefore : ifBehind
        return
      }
    }
    let count = collection.segments.count
    self = bound.segments.count > count ? .id(bound.segments[count]) : ifBefore
  }
}
