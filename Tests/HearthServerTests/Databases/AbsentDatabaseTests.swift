#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import TestSupport
  import Testing

  @testable import HearthServer

  /// A server that creates databases does so for those who write.
  @Suite(.timeLimit(patience)) struct AbsentDatabaseTests {
    private static let v1 = "/v1/" + TestServer.root

    private static func run(
      _ body:
        @escaping @Sendable (TestServer, _ files: @escaping @Sendable () -> [String]) async throws
        ->
        Void
    ) async throws {
      let temporary = TemporaryFolder()
      let folder = temporary.path + "/databases"
      try await TestServer.run({ $0.isEmulator = true }, folder: folder) { server in
        try await body(server) {
          ((try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? [])
            .filter { !$0.hasSuffix("-lock") && !$0.hasSuffix("-presence") }.sorted()
        }
      }
    }

    @Test func `reads over REST find it empty, and create nothing`() async throws {
      try await Self.run { server, files in
        let query = #"{"structuredQuery": {"from": [{"collectionId": "a"}]}}"#
        let count =
          #"{"structuredAggregationQuery": {"structuredQuery": {"from": [{"collectionId": "a"}]},"#
          + #" "aggregations": [{"alias": "n", "count": {}}]}}"#
        let name = TestServer.root + "/a/b"
        let answers: [(String, String, String, Int, String)] = [
          ("GET", Self.v1 + "/a/b", "", 404, "NOT_FOUND"), ("GET", Self.v1 + "/a", "", 200, "{}"),
          ("POST", Self.v1 + ":batchGet", #"{"documents": ["\#(name)"]}"#, 200, "missing"),
          ("POST", Self.v1 + ":runQuery", query, 200, "readTime"),
          ("POST", Self.v1 + ":runAggregationQuery", count, 200, #""integerValue":"0""#),
          ("POST", Self.v1 + ":listCollectionIds", "{}", 200, "{}"),
          ("POST", Self.v1 + ":commit", "{}", 200, "commitTime"),
          ("POST", Self.v1 + ":batchWrite", "{}", 200, "{}"),
          (
            "POST", Self.v1 + ":beginTransaction", #"{"options": {"readOnly": {}}}"#, 200,
            "transaction"
          ),
          ("POST", Self.v1 + ":rollback", #"{"transaction": "AAAA"}"#, 400, "INVALID_ARGUMENT"),
          ("DELETE", "/emulator" + Self.v1, "", 200, "{}"),
        ]
        for (method, path, body, status, part) in answers {
          let answer = try await server.rest(method, path, body)
          #expect(answer.status == status && answer.body.contains(part), "\(path): \(answer)")
        }
        #expect(files() == [])
        let written = try await server.rest("POST", Self.v1 + "/a?documentId=b", "{}")
        #expect(written.status == 200)
        #expect(files() == ["test", "test/(default).hearth"])
        #expect(try await server.rest("GET", Self.v1 + "/a/b").status == 200)
      }
    }

    @Test func `a transaction that may write creates it`() async throws {
      try await Self.run { server, files in
        let begun = try await server.rest("POST", Self.v1 + ":beginTransaction", "{}")
        let id = try #require(begun.json["transaction"] as? String)
        #expect(files() == ["test", "test/(default).hearth"])
        // A "+" of base64 would be a space in a URL.
        let encoded = id.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? id
        let read = try await server.rest("GET", Self.v1 + "/a/b?transaction=\(encoded)")
        #expect(read.status == 404)
        let write = #"{"update": {"name": "\#(TestServer.root)/a/b"}}"#
        let committed = try await server.rest(
          "POST", Self.v1 + ":commit", #"{"transaction": "\#(id)", "writes": [\#(write)]}"#)
        #expect(committed.status == 200)
      }
    }

    @Test func `a listener finds it empty, and gets what is written when it is created`()
      async throws
    {
      try await Self.run { server, files in
        try await server.client.listen { writer in
          for (id, collection) in [(1, "a"), (2, "b")] as [(Int32, String)] {
            try await writer.write(
              .with {
                $0.database = TestServer.database
                $0.addTarget.targetID = id
                $0.addTarget.query.parent = TestServer.root
                $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = collection }]
              })
          }
          try await writer.write(
            .with {
              $0.database = TestServer.database
              $0.addTarget.targetID = 3
              $0.addTarget.documents.documents = [TestServer.root + "/c/one"]
            })
          await untilCancelled()
        } onResponse: { response in
          var client = ListeningClient()
          var current: Set<Int32> = []
          var isWritten = false
          for try await message in response.messages {
            if message.targetChange.targetChangeType == .current {
              current.formUnion(message.targetChange.targetIds)
            }
            guard try client.take(message), current == [1, 2, 3] else { continue }
            let found = client.documents.keys.sorted()
            switch found {
            case []:
              // A second empty snapshot may come before the first write is seen.
              guard !isWritten else { continue }
              isWritten = true
              #expect(files() == [])
              try await server.set(TestServer.root + "/a/one", 1)
            case ["a/one"]: try await server.set(TestServer.root + "/c/one", 1)
            case ["a/one", "c/one"]: try await server.set(TestServer.root + "/b/two", 1)
            case ["a/one", "b/two", "c/one"]:
              _ = try await server.client.deleteDocument(
                .with { $0.name = TestServer.root + "/a/one" })
            default:
              #expect(found == ["b/two", "c/one"])
              #expect(client.resets == 0 && !client.token.isEmpty)
              return
            }
          }
          Issue.record("The stream has ended.")
        }
      }
    }
  }
#endif
