import HearthText
import Testing

@testable import Hearth
@testable import HearthEngine
@testable import HearthReference

/// Firestore's recorded order of values.
struct RecordedOrderTests {
  private struct Recording {
    var values: [String: Value] = [:]
    var lists: [String: [String]] = [:]
    /// The first id of the group an id is in.
    var group: [String: String] = [:]

    init() throws {
      let json = try JSON(resource: "vectors/values-order.json")
      for entry in try #require(json["values"]?.array) where entry["emulatorOnly"] == nil {
        values[try #require(entry["id"]?.string)] =
          try ProtoJSON.value(try #require(entry["value"]))
      }
      for name in ["ascending", "descending", "descendingNameAscending"] {
        lists[name] = ids(try #require(json[name]))
      }
      for list in try #require(json["equalGroups"]?.array) {
        let members = ids(list)
        for id in members { group[id] = members[0] }
      }
    }

    private func ids(_ json: JSON) -> [String] {
      (json.array ?? []).compactMap(\.string).filter { values[$0] != nil }
    }

    /// The ids in the order of their index entries, which is that of names where values are equal.
    func sorted(descending: Bool) -> [String] {
      values.map { id, value in
        var buffer = KeyBuffer()
        buffer.append(value, descending: descending)
        buffer.append(entryName: ResourcePath(["samples", id]), isGroup: false)
        return (id: id, key: buffer.bytes)
      }.sorted { compareBytes($0.key, $1.key) < 0 }.map(\.id)
    }
  }

  @Test func `every recorded pair compares as recorded, by value and by key`() throws {
    let recording = try Recording()
    let order = try #require(recording.lists["ascending"])
    #expect(order.count > 300)
    let values = order.compactMap { recording.values[$0] }
    let terms = values.map(ReferenceOrder.terms)
    let keys = values.map { value in
      var buffer = KeyBuffer()
      buffer.append(value)
      return buffer.bytes
    }
    for left in order.indices {
      for right in order.indices[left...] {
        let sameGroup = recording.group[order[left]].map { $0 == recording.group[order[right]] }
        let expected = left == right || sameGroup == true ? 0 : -1
        if Value.compare(values[left], values[right]).signum() != expected
          || Value.compare(values[right], values[left]).signum() != -expected
          || compareBytes(keys[left], keys[right]) != expected
          || ReferenceOrder.compare(terms[left], terms[right]) != expected
        {
          Issue.record("\(values[left]) and \(values[right]), expected \(expected)")
        }
      }
    }
  }

  @Test(arguments: [
    ("ascending", false, false), ("descending", false, true),
    ("descendingNameAscending", true, false),
  ])
  func `index entries lie in the recorded order`(
    list: String, descending: Bool, isBackwards: Bool
  ) throws {
    let recording = try Recording()
    let sorted = recording.sorted(descending: descending)
    #expect((isBackwards ? sorted.reversed() : sorted) == recording.lists[list])
  }
}
