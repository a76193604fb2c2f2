import Hearth
import Testing

@testable import FirebaseDataConnect

/// Rows with the nearest vectors, and orders by positions in an enum.
@Suite struct SimilarityTests {
  private let connector: TestConnector

  init() throws {
    connector = try TestConnector(
      schema: """
        enum Size { SMALL MEDIUM LARGE }
        type Studio @table(key: "name") { name: String! }
        type Movie @table(key: "title") {
          title: String!
          plot: Vector @col(size: 2)
          size: Size
          studio: Studio
        }
        """,
      operations: """
        mutation AddStudio($name: String!) { studio_upsert(data: {name: $name}) }
        mutation Add($title: String!, $plot: Vector, $size: Size) {
          movie_insert(data: {title: $title, plot: $plot, size: $size, studioName: "Fox"})
        }
        query Like($plot: Vector!, $within: Float, $limit: Int, $offset: Int) {
          movies_plot_similarity(
            compare: $plot, within: $within, limit: $limit, offset: $offset,
            where: {title: {ne: "hidden"}}
          ) { title studio { name } _metadata { distance far: distance } }
        }
        query Angle($plot: Vector!) {
          movies_plot_similarity(compare: $plot, method: COSINE, where: {title: {ne: "hidden"}}) {
            title studio { name } _metadata { distance far: distance }
          }
        }
        query Product($plot: Vector!, $within: Float) {
          movies_plot_similarity(
            compare: $plot, method: INNER_PRODUCT, within: $within, where: {title: {ne: "hidden"}}
          ) { title studio { name } _metadata { distance far: distance } }
        }
        query BySize { movies(orderBy: [{size: DESC}, {title: ASC}]) { title } }
        """)
  }

  private func fill() async throws {
    try await connector.mutate("AddStudio", ["name": "Fox"])
    for (title, plot, size) in [
      ("a", [1, 0], "MEDIUM"), ("b", [0, 2], "SMALL"), ("c", [-1, 0], "LARGE"),
      ("hidden", [1, 1], nil), ("none", nil, nil),
    ] as [(String, [Double]?, String?)] {
      try await connector.mutate(
        "Add",
        [
          "title": .string(title), "size": size.map { .string($0) } ?? .null,
          "plot": plot.map { .list($0.map { .double($0) }) } ?? .null,
        ])
    }
  }

  private func near(_ query: String, _ variables: DataObject) async throws -> [(
    DataValue?, DataValue?
  )] {
    let found = try await connector.query(query, variables)["movies_plot_similarity"]
    return (found?.elements ?? []).map { row in
      #expect(row["studio"]?["name"] == "Fox")
      #expect(row["_metadata"]?["far"] == row["_metadata"]?["distance"])
      return (row["title"], row["_metadata"]?["distance"])
    }
  }

  @Test(
    arguments: [
      ("Like", ["plot": [1.0, 0.0]], ["a", "c", "b"], [0, 2, 5.0.squareRoot()]),
      ("Like", ["plot": [1.0, 0.0], "limit": 1, "offset": 1], ["c"], [2]),
      ("Like", ["plot": [1.0, 0.0], "within": 2.0], ["a", "c"], [0, 2]),
      ("Angle", ["plot": [2.0, 0.0]], ["a", "b", "c"], [0, 1, 2]),
      ("Product", ["plot": [2.0, 0.0]], ["a", "b", "c"], [-2, 0, 2]),
      ("Product", ["plot": [2.0, 0.0], "within": -1.0], ["a"], [-2]),
      ("Like", ["plot": [2.0, 0.0], "limit": 0], [], []),
    ] as [(String, DataObject, [DataValue], [Double])])
  func `the nearest rows come first, with their distances`(
    query: String, variables: DataObject, titles: [DataValue], distances: [Double]
  ) async throws {
    try await fill()
    let found = try await near(query, variables)
    #expect(found.map(\.0) == titles)
    #expect(found.map(\.1) == distances.map { .double($0) })
  }

  @Test func `values of an enum are in the order of their declaration`() async throws {
    try await fill()
    let found = try await connector.query("BySize")["movies"]
    #expect(found?.elements?.map { $0["title"] } == ["c", "a", "b", "hidden", "none"])
  }
}
