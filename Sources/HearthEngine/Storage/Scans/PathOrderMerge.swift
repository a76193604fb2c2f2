/// Merges the documents of collections, of which one may lie below another, into path order.
///
/// Keys are in order of (collection id, parent, id), so that a collection is contiguous; the order
/// of full paths interleaves a collection's documents with the documents below them. While a scan
/// goes through collections in path order, its opened and unfinished collections form a chain of
/// ancestors. The next document is the least of their first documents, once no collection that is
/// not yet open can hold a lesser one.
struct PathOrderMerge {
  private struct Source {
    var head: ScannedDocument
    var rest: () throws -> ScannedDocument?
  }

  private var sources: [Source] = []

  /// Adds a collection's documents, which must come in path order.
  mutating func add(_ rest: @escaping () throws -> ScannedDocument?) throws {
    if let head = try rest() { sources.append(Source(head: head, rest: rest)) }
  }

  /// The least waiting document, if it sorts before everything at or below `bound`. Nil means no
  /// bound.
  mutating func next(before bound: ResourcePath?) throws -> ScannedDocument? {
    guard var least = sources.indices.last else { return nil }
    for index in sources.indices
    where ResourcePath.compare(sources[index].head.path, sources[least].head.path) < 0 {
      least = index
    }
    let document = sources[least].head
    if let bound, ResourcePath.compare(document.path, bound) >= 0 { return nil }
    if let head = try sources[least].rest() {
      sources[least].head = head
    } else {
      sources.remove(at: least)
    }
    return document
  }
}
