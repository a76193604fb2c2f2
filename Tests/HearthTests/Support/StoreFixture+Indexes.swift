import LMDB

@testable import Hearth
@testable import HearthEngine

extension StoreFixture {
  /// Makes an index as it is, whatever its state says.
  func putIndex(_ index: StoredIndex) throws {
    var transaction = try store.environment.beginWrite()
    try transaction.store(index, number: index.number, in: store)
    try transaction.commit()
  }

  func commit(_ mutations: Mutation...) throws {
    for outcome in commitTogether([mutations]) { _ = try outcome.get() }
  }

  func set(_ path: ResourcePath, _ fields: MapValue) throws -> Mutation {
    Mutation(path: name(path).path, operation: .set(try DocumentBody(encoding: fields)))
  }

  func delete(_ path: ResourcePath) -> Mutation {
    Mutation(path: name(path).path, operation: .delete)
  }
}
