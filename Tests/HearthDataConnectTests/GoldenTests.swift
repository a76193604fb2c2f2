import DataConnectModel
import Foundation
import Testing

@testable import HearthDataConnect

/// The compiled form is read by runtimes of other versions: a change here changes the format.
@Suite struct `Compiled form` {
  @Test func `a small connector has this JSON`() throws {
    let result = Fixtures.compile(
      """
      type Movie @table { title: String! @col(dataType: "varchar(9)")  ratio: Ratio @default(value: WIDE) }
      type Review @table(key: ["movie", "uid"]) @index(fields: ["uid"]) { movie: Movie!  uid: String! }
      enum Ratio { WIDE ACADEMY }
      """,
      """
      query Q($k: Movie_Key!, $l: Int = 5) @auth(level: PUBLIC) @refresh(every: { seconds: 30 }) {
        a: movie(key: $k) { ...F reviews_on_movie(limit: $l, orderBy: { uid: DESC }) { uid } }
      }
      fragment F on Movie { title @include(if: true) _count }
      mutation M($t: String!) @auth(expr: "auth.uid != null") @transaction {
        movie_upsert(data: { title: $t, ratio: ACADEMY, id: "11A7649B-8FF5-485B-AFBF-2EA5F28894DF" })
      }
      """)
    let connector = try #require(result.connector, "\(result.diagnostics)")
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let data = try encoder.encode(connector)
    #expect(String(decoding: data, as: UTF8.self) == Self.golden.replacing("\n", with: ""))
    #expect(try JSONDecoder().decode(CompiledConnector.self, from: data) == connector)
  }

  @Test(arguments: [
    (Fixtures.guideSchema, Fixtures.guideOperations),
    (Fixtures.recipeSchema, Fixtures.recipeOperations),
    (Fixtures.sinkSchema, Fixtures.sinkOperations),
  ])
  func `a connector is the same after its JSON`(schema: String, operations: String) throws {
    let connector = try #require(Fixtures.compile(schema, operations).connector)
    let data = try JSONEncoder().encode(connector)
    #expect(try JSONDecoder().decode(CompiledConnector.self, from: data) == connector)
  }

  @Test func `the same sources have the same form`() {
    let first = Fixtures.compile(Fixtures.recipeSchema, Fixtures.recipeOperations)
    for _ in 0..<5 {
      let next = Fixtures.compile(Fixtures.recipeSchema, Fixtures.recipeOperations)
      #expect(next.connector == first.connector)
      #expect(next.diagnostics == first.diagnostics)
    }
  }

  private static let golden = """
    {"connectorID":"movies","location":"local","operations":[{"auth":{"expression":"true",
    "level":"PUBLIC"},"checks":[],"fields":[{"action":"lookup","arguments":[{"name":"key",
    "value":{"variable":"k"}}],"fields":[],"modifiers":{"checks":[],"isRedacted":false,
    "isRetired":false},"name":"movie","responseKey":"a","selections":[{"arguments":[],
    "kind":{"column":{"_0":"title"}},"modifiers":{"checks":[],"include":true,"isRedacted":false,
    "isRetired":false},"name":"title","responseKey":"title","selections":[]},{"arguments":[],
    "kind":{"aggregate":{"_0":"count","isDistinct":false}},"modifiers":{"checks":[],
    "isRedacted":false,"isRetired":false},"name":"_count","responseKey":"_count",
    "selections":[]},{"arguments":[{"name":"limit","value":{"variable":"l"}},{"name":"orderBy",
    "value":[{"object":[{"name":"uid","value":{"name":"DESC"}}]}]}],
    "kind":{"referring":{"isSingle":false,"reference":"movie","table":"Review"}},
    "modifiers":{"checks":[],"isRedacted":false,"isRetired":false},"name":"reviews_on_movie",
    "responseKey":"reviews_on_movie","selections":[{"arguments":[],
    "kind":{"column":{"_0":"uid"}},"modifiers":{"checks":[],"isRedacted":false,
    "isRetired":false},"name":"uid","responseKey":"uid","selections":[]}]}],"table":"Movie"}],
    "isRetired":false,"isTransaction":false,"kind":"query","name":"Q",
    "refreshes":[{"every":{"milliseconds":30000}}],"variables":[{"isRetired":false,"name":"k",
    "type":{"key":{"_0":"Movie","isNullable":false}}},{"defaultValue":{"int":"5"},
    "isRetired":false,"name":"l","type":{"value":{"_0":"Int","isNullable":true}}}]},
    {"auth":{"expression":"auth.uid != null"},"checks":[],"fields":[{"action":"upsert",
    "arguments":[{"name":"data","value":{"object":[{"name":"title","value":{"variable":"t"}},
    {"name":"ratio","value":{"name":"ACADEMY"}},{"name":"id",
    "value":"11a7649b8ff5485bafbf2ea5f28894df"}]}}],"fields":[],"modifiers":{"checks":[],
    "isRedacted":false,"isRetired":false},"name":"movie_upsert","responseKey":"movie_upsert",
    "selections":[],"table":"Movie"}],"isRetired":false,"isTransaction":true,"kind":"mutation",
    "name":"M","refreshes":[],"variables":[{"isRetired":false,"name":"t",
    "type":{"value":{"_0":"String","isNullable":false}}}]}],"schema":{"enums":[{"name":"Ratio",
    "values":["WIDE","ACADEMY"]}],"tables":[{"collectionID":"movie",
    "columns":[{"defaultValue":{"expression":{"_0":"uuidV4()"}},"hasNullElements":false,
    "isImplicit":true,"isList":false,"isNullable":false,"isSerial":false,"name":"id",
    "type":"UUID"},{"hasNullElements":false,"isImplicit":false,"isList":false,
    "isNullable":false,"isSerial":false,"maximumLength":9,"name":"title","type":"String"},
    {"defaultValue":{"value":{"_0":{"name":"WIDE"}}},"hasNullElements":false,"isImplicit":false,
    "isList":false,"isNullable":true,"isSerial":false,"name":"ratio","type":"Ratio"}],
    "indexes":[],"key":["id"],"plural":"movies","references":[],"singular":"movie",
    "typeName":"Movie","uniques":[]},{"collectionID":"review",
    "columns":[{"hasNullElements":false,"isImplicit":true,"isList":false,"isNullable":false,
    "isSerial":false,"name":"movieId","type":"UUID"},{"hasNullElements":false,
    "isImplicit":false,"isList":false,"isNullable":false,"isSerial":false,"name":"uid",
    "type":"String"}],"indexes":[{"columns":["uid"],"isDescending":[false]}],"key":["movieId",
    "uid"],"plural":"reviews","references":[{"columns":["movieId"],"isNullable":false,
    "isOneToOne":false,"name":"movie","target":"Movie","targetColumns":["id"]}],
    "singular":"review","typeName":"Review","uniques":[]}]},"serviceID":"service","version":1}
    """
}
