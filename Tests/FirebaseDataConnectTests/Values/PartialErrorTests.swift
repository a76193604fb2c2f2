import Foundation
import Testing

@testable import FirebaseDataConnect

/// Mutations without `@transaction` of which some fields fail.
@Suite struct PartialErrorTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: "type Person @table { id: UUID!  name: String! }",
      operations: """
        mutation InsertTwo($id: UUID!, $first: String!, $second: String!) {
          person1: person_insert(data: {id: $id, name: $first})
          person2: person_insert(data: {id: $id, name: $second})
        }
        mutation InsertAndDelete($id: UUID!, $missing: UUID!) {
          person1: person_insert(data: {id: $id, name: "a"})
          person2: person_delete(id: $missing)
          person3: person_insert(data: {id: $id, name: "b"})
        }
        query People { people(orderBy: [{name: ASC}]) { name } }
        """)
  }

  private struct Key: Decodable, Sendable, Equatable {
    var id: UUID
  }

  private struct Two: Decodable, Sendable {
    var person1: Key
    var person2: Key?
    var person3: Key?
  }

  private struct Complete: Decodable, Sendable {
    var person1: Key
    var person2: Key
  }

  private func failure<Result: Decodable & Sendable>(
    _ name: String, _ variables: [String: String], _ type: Result.Type
  ) async throws -> DataConnectOperationError {
    let mutation = connector.dataConnect.mutation(
      name: name, variables: variables, resultsDataType: type)
    let error = await #expect(throws: DataConnectOperationError.self) {
      try await mutation.execute()
    }
    return try #require(error)
  }

  @Test func `a key that exists is an error of its field, and the other fields have their results`()
    async throws
  {
    let id = UUID()
    let variables = ["id": id.uuidString, "first": "Ada", "second": "Bob"]
    let error = try await failure("InsertTwo", variables, Two.self)
    let response = try #require(error.response)
    #expect(response.errors.map(\.path) == [[.field("person2")]])
    #expect(response.errors.first?.message.contains("already a row of Person") == true)
    #expect(error.message.contains("person2: ") && error.underlyingError == nil)
    #expect(response.data(asType: Two.self)?.person1.id == id)
    #expect(response.data(asType: Two.self)?.person2 == nil)
    #expect(response.data(asType: Complete.self) == nil)
    #expect(
      response.rawJsonData == "{\"person1\":{\"id\":\"\(id.dataConnectText)\"},\"person2\":null}")
    // The row of the first field stays.
    #expect(try await connector.query("People") == ["people": [["name": "Ada"]]])
    // Both fail the second time, and nothing can be decoded.
    let second = try await failure("InsertTwo", variables, Two.self)
    #expect(second.response?.errors.map(\.path) == [[.field("person1")], [.field("person2")]])
    #expect(second.response?.data(asType: Two.self) == nil && second.underlyingError != nil)
  }

  @Test func `results that exist are decoded if their type allows nil for the others`() async throws
  {
    let variables = ["id": UUID().uuidString, "missing": UUID().uuidString]
    let error = try await failure("InsertAndDelete", variables, Two.self)
    // A row that is not there is deleted without an error.
    #expect(error.response?.errors.map(\.path) == [[.field("person3")]])
    let data = try #require(error.response?.data(asType: Two.self))
    #expect(data.person1.id.uuidString == variables["id"])
    #expect(data.person2 == nil && data.person3 == nil)
    let strict = try await failure(
      "InsertTwo", ["id": UUID().uuidString, "first": "x", "second": "y"], Complete.self)
    #expect(strict.response?.data(asType: Complete.self) == nil)
    #expect(strict.underlyingError is DataConnectCodecError)
    #expect(strict.response?.errors.map(\.path) == [[.field("person2")]])
  }
}
