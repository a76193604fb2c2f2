/// A list that is changed several times. Each change costs its operand, and not the list.
///
///     front, reversed      back
///     [c, b, a]            [d, nil, f]      a b c d f, after an element was removed
struct ListEdits {
  private var front: [DataValue?] = []
  private var back: [DataValue?]
  /// Of each element, its index in `back`, or the complement of its index in `front`. Made for the first
  /// change that searches.
  private var places: [DataValue: [Int]]?

  /// - Parameter value: A list. Null, like any other value, counts as an empty list.
  init(_ value: DataValue) { back = value.elements ?? [] }

  var value: DataValue { .list(front.reversed().compactMap(\.self) + back.compactMap(\.self)) }

  mutating func append(_ elements: [DataValue]) {
    for element in elements {
      places?[element, default: []].append(back.count)
      back.append(element)
    }
  }

  mutating func prepend(_ elements: [DataValue]) {
    for element in elements.reversed() {
      places?[element, default: []].append(~front.count)
      front.append(element)
    }
  }

  /// Appends those that are not there.
  mutating func add(_ elements: [DataValue]) {
    makePlaces()
    for element in elements where places?[element] == nil { append([element]) }
  }

  /// Removes every element that equals one of these.
  mutating func remove(_ elements: [DataValue]) {
    makePlaces()
    for element in elements {
      for place in places?.removeValue(forKey: element) ?? [] {
        if place < 0 { front[~place] = nil } else { back[place] = nil }
      }
    }
  }

  private mutating func makePlaces() {
    if places != nil { return }
    var made: [DataValue: [Int]] = [:]
    for (index, element) in front.enumerated() {
      if let element { made[element, default: []].append(~index) }
    }
    for (index, element) in back.enumerated() {
      if let element { made[element, default: []].append(index) }
    }
    places = made
  }
}
