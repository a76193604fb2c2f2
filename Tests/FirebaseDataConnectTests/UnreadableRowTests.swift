import Foundation
import Hearth
import Testing

@testable import FirebaseDataConnect

/// Rows that another interface, or a program with another schema, has written.
@Suite struct UnreadableRowTests {
  private struct Film: Codable, Sendable {
    var id: String
    var title: String
    var kind: Kind?
    var tags: [String]?

    enum Kind: String, Codable, Sendable { case LONG, SHORT }
  }

  private struct Films: Codable, Sendable {
    var films: [Film]
  }

  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        enum Kind { LONG SHORT }
        type Film @table(key: "id") { id: String! title: String! year: Int kind: Kind tags: [String!] }
        """,
      operations: """
        query List { films(orderBy: {id: ASC}) { id title kind tags } }
        query Lines { films(orderBy: {id: ASC}) { id title kind tags _id } }
        query Hidden { films(orderBy: {id: ASC}) { id title kind @redact } }
        mutation Checked {
          query @redact { film(key: {id: "a"}) { kind @check(expr: "true", message: "x") } }
        }
        query Years { films(where: {year: {isNull: true}}) { id } }
        mutation Save($id: String!, $title: String!) {
          film_upsert(data: {id: $id, title: $title, kind: LONG, tags: ["x"]})
        }
        """)
  }

  @Test func `an operation with redacted fields says nothing of the values that it has read`()
    async throws
  {
    try await connector.mutate("Save", ["id": "a", "title": "t"])
    try await connector.firestore.document("film/a").updateData(["kind": "SECRET"])
    let service = try connector.dataConnect.service()
    for response in [
      try await service.query("Hidden", [:], nil), try await service.mutate("Checked", [:], nil),
    ] {
      #expect(response.misfits == [])
      #expect(!EmulatorMessage.answer(1, .success(response)).line.contains("SECRET"))
    }
  }

  @Test(arguments: [
    ("title", FieldUpdate.set(5), "5"), ("title", .remove, "null"),
    ("kind", .set("MEDIUM"), "\"MEDIUM\""), ("tags", .set(["x", 1]), "[\"x\",1]"),
    ("tags", .set("x"), "\"x\""),
  ])
  func `a row that cannot be read is named with its table, its key and its column`(
    _ column: String, _ update: FieldUpdate, _ value: String
  ) async throws {
    for id in ["a", "b", "c"] {
      try await connector.mutate("Save", ["id": .string(id), "title": "t"])
    }
    let document = connector.firestore.document("film/b")
    try await document.updateData([column: update.value])
    for name in ["List", "Lines"] {
      let reference = connector.dataConnect.query(
        name: name, variables: [String: DataValue](), resultsDataType: Films.self)
      let error = await #expect(throws: DataConnectCodecError.self) {
        _ = try await reference.execute()
      }
      let text = error?.message ?? ""
      #expect(text.contains("row of Film with the key b has \(value)"), "\(text)")
      #expect(text.contains("in the column \(column)"), "\(text)")
    }
    // As JSON, the row is there.
    let rows = try await connector.query("List")["films"]?.elements
    #expect(rows?.map { $0["id"] } == ["a", "b", "c"])
    // Through the emulator's protocol, the sentence stays.
    let response = try await connector.dataConnect.service().query("List", [:], nil)
    let line = EmulatorMessage.answer(1, .success(response)).line
    guard case .answer(_, .success(let received))? = EmulatorMessage(line: Array(line.utf8)) else {
      Issue.record("\(line) is no answer.")
      return
    }
    #expect(received.misfits == response.misfits && received.misfits.count == 1)
    // A row that is right again is read.
    try await connector.mutate("Save", ["id": "b", "title": "t"])
    let reference = connector.dataConnect.query(
      name: "List", variables: [String: DataValue](), resultsDataType: Films.self)
    #expect(try await reference.execute().data.films.count == 3)
  }

  enum FieldUpdate: @unchecked Sendable {
    // Unchecked: the values are constants.
    case set(Any)
    case remove

    var value: Any {
      switch self {
      case .set(let value): value
      case .remove: FieldValue.delete()
      }
    }
  }
}
