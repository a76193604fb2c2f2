#if Server
  import FirestoreProtocol
  import Foundation
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Requests that tests send to an emulator, and that no other server has.
  @Suite struct EmulatorEndpointsTests {
    private static let documents = "/emulator/v1/" + TestServer.root

    @Test func `clear deletes all documents`() async throws {
      try await TestServer.run({ $0.isEmulator = true }) { server in
        for number in 0..<3 { try await server.set(TestServer.root + "/a/\(number)", 1) }
        try await server.set(TestServer.root + "/a/missing/b/c", 1)
        #expect(try await server.rest("DELETE", Self.documents).status == 200)
        let ids = try await server.rest("POST", "/v1/\(TestServer.root):listCollectionIds")
        #expect(ids.body == "{}")
        #expect(try await server.rest("DELETE", Self.documents).status == 200)
      }
    }

    @Test func `clear is one snapshot for listeners, and ends while others write`() async throws {
      try await TestServer.run({ $0.isEmulator = true }) { server in
        let commit = ProtoCommitRequest.with {
          $0.database = TestServer.database
          $0.writes = (0..<1200).map { number in
            .with { $0.update.name = TestServer.root + "/a/\(number)" }
          }
        }
        _ = try await server.client.commit(commit)
        try await server.client.listen { writer in
          try await writer.write(
            .with {
              $0.database = TestServer.database
              $0.addTarget.targetID = 1
              $0.addTarget.query.parent = TestServer.root
              $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "a" }]
            })
          await untilCancelled()
        } onResponse: { response in
          var client = ListeningClient()
          var counts: [Int] = []
          for try await message in response.messages where try client.take(message) {
            counts.append(client.documents.count)
            if counts.count == 1 {
              #expect(try await server.rest("DELETE", Self.documents).status == 200)
            }
            if counts.last == 0 { break }
          }
          #expect(counts == [1200, 0])
        }
        // A writer that is always ahead, or behind: in steps of two, a clear ends all the same.
        let writing = Task {
          var number = 0
          while !Task.isCancelled {
            number += 1
            try await server.set(TestServer.root + "/a/\(number % 7)", Int64(number))
          }
        }
        let emulator = EmulatorEndpoints(catalog: server.catalog) {}
        try await emulator.clear(
          await server.catalog.use(DatabaseName(TestServer.database), for: .writing), 2)
        writing.cancel()
        _ = try? await writing.value
      }
    }

    @Test func `an export is imported again`() async throws {
      let folder = TemporaryFolder()
      @Sendable func body(_ name: String, _ database: String = TestServer.database) -> String {
        #"{"database": "\#(database)", "export_directory": "\#(folder.path)", "export_name": "\#(name)"}"#
      }
      try await TestServer.run({ $0.isEmulator = true }) { server in
        let path = "/emulator/v1/projects/test:"
        try await server.set(TestServer.root + "/a/b", 7)
        #expect(try await server.rest("POST", path + "export", body("one")).status == 200)
        // A second export replaces nothing.
        let again = try await server.rest("POST", path + "export", body("one"))
        #expect((400..<500).contains(again.status) && again.error != nil, "\(again)")
        _ = try await server.rest("DELETE", Self.documents)
        #expect(try await server.rest("POST", path + "import", body("one")).status == 200)
        #expect(try await server.get(TestServer.root + "/a/b").fields["n"]?.integerValue == 7)
        for wrong in [
          "", "{}", body("../one"), body(""), body("none"),
          body("one", "projects/other/databases/(default)"),
        ] {
          let refused = try await server.rest("POST", path + "import", wrong)
          #expect((400..<500).contains(refused.status) && refused.error != nil, "\(refused)")
        }
      }
    }

    @Test func `shutdown answers, and ends the server`() async throws {
      try await TestServer.run({ $0.isEmulator = true }) { server in
        #expect(try await server.rest("POST", "/shutdown").status == 200)
        try await server.eventually {
          if let answer = try? await server.rest("GET", "/") {
            throw TestServer.NoAnswer(text: answer.body)
          }
        }
      }
    }

    @Test func `other servers have none of them`() async throws {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/b", 7)
        for (method, path) in [
          ("DELETE", Self.documents), ("POST", "/shutdown"),
          ("POST", "/emulator/v1/projects/test:export"),
          ("POST", "/emulator/v1/projects/test:import"),
        ] {
          let refused = try await server.rest(method, path, "{}")
          #expect(refused.status == 404 && refused.error == "NOT_FOUND")
        }
        #expect(try await server.get(TestServer.root + "/a/b").fields["n"]?.integerValue == 7)
      }
    }

    @Test func `a page of another machine clears nothing`() async throws {
      try await TestServer.run({ $0.isEmulator = true }) { server in
        let refused = try await server.rest(
          "POST", "/shutdown", "", ["Origin": "http://evil.example"])
        #expect(refused.status == 403)
        try await server.set(TestServer.root + "/a/b", 7)
      }
    }
  }
#endif
