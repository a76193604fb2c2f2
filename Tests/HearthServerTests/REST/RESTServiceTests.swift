#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import Logging
  import NIOHTTP1
  import TestSupport
  import Testing

  @testable import HearthServer

  /// REST answers the same calls as gRPC, on the same port.
  @Suite struct RESTServiceTests {
    private static let v1 = "/v1/" + TestServer.root

    @Test func `errors have Google's numbers and names`() {
      let names = [
        "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
        "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
        "UNAUTHENTICATED",
      ]
      let statuses = [
        499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401,
      ]
      for (number, (name, status)) in zip(names, statuses).enumerated() {
        let code = GRPCCore.Status.Code(rawValue: number + 1).flatMap { RPCError.Code($0) }
        let error = RPCError(code: code ?? .unknown, message: "\0\u{1F}\u{7F}/\"\\")
        let body = HTTPResponseWriter.body(of: error)
        #expect(
          String(decoding: body, as: UTF8.self)
            == #"{"error":{"code":\#(status),"message":"\u0000\u001f\#u{7F}/\"\\","status":"\#(name)"}}"#
        )
      }
    }

    @Test func `documents are created, read, changed and deleted`() async throws {
      try await TestServer.run { server in
        let created = try await server.rest(
          "POST", Self.v1 + "/books?documentId=dune",
          #"{"fields": {"title": {"stringValue": "Dune"}, "pages": {"integerValue": "412"}}}"#)
        #expect(created.status == 200)
        #expect(created.json["name"] as? String == TestServer.root + "/books/dune")
        #expect(created.headers["content-type"] == "application/json; charset=UTF-8")
        let again = try await server.rest("POST", Self.v1 + "/books?documentId=dune", "{}")
        #expect(again.status == 409 && again.error == "ALREADY_EXISTS")
        // The same document over gRPC.
        let same = try await server.get(TestServer.root + "/books/dune")
        #expect(same.fields["pages"]?.integerValue == 412)

        let read = try await server.rest("GET", Self.v1 + "/books/dune?mask.fieldPaths=pages")
        #expect(
          read.json["fields"] as? [String: [String: String]] == [
            "pages": ["integerValue": "412"]
          ])
        let time = try #require(read.json["updateTime"] as? String)

        let changed = try await server.rest(
          "PATCH",
          Self.v1 + "/books/dune?updateMask.fieldPaths=pages&updateMask.field_paths=n"
            + "&mask.fieldPaths=title&currentDocument.updateTime=\(time)",
          #"{"fields": {"pages": {"integerValue": 413}}}"#)
        #expect(changed.status == 200)
        #expect((changed.json["fields"] as? [String: Any])?.keys.sorted() == ["title"])
        let stale = try await server.rest(
          "DELETE", Self.v1 + "/books/dune?currentDocument.updateTime=\(time)")
        #expect(stale.status == 400 && stale.error == "FAILED_PRECONDITION")
        let past = try await server.rest("GET", Self.v1 + "/books/dune?readTime=\(time)")
        #expect(past.body.contains("412"))

        let deleted = try await server.rest("DELETE", Self.v1 + "/books/dune")
        #expect(deleted.status == 200 && deleted.body == "{}")
        let missing = try await server.rest("GET", Self.v1 + "/books/dune")
        #expect(missing.status == 404 && missing.error == "NOT_FOUND")
        #expect(missing.body.contains("not found"))
      }
    }

    @Test func `a body is read after the key is checked`() async throws {
      let key = "a-key-of-the-tests"
      @Sendable func begin(_ path: String, _ key: String?) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n"
          + (key.map { "Authorization: Bearer \($0)\r\n" } ?? "") + "\r\n{"
      }
      try await TestServer.run({ $0.serviceKeys = [key] }) { server in
        for refused in [nil, "another-key-of-the-tests"] {
          let answer = try await RawConnection.send(
            begin(Self.v1 + ":commit", refused), port: server.port)
          #expect(answer.hasPrefix("HTTP/1.1 401"), "\(answer)")
        }
        let missing = try await RawConnection.send(begin("/v2", nil), port: server.port)
        #expect(missing.hasPrefix("HTTP/1.1 404"), "\(missing)")
        let large = try await RawConnection.send(
          begin("/v1/x", key).replacing("20000000", with: "200000000"), port: server.port)
        #expect(large.hasPrefix("HTTP/1.1 404") || large.hasPrefix("HTTP/1.1 413"), "\(large)")
        // Over HTTP/2 the stream ends without its body.
        let frames = try await RawConnection.send(
          [.request(1, "POST", Self.v1 + ":commit", ends: false)],
          until: { $0.haveEnded(1) }, port: server.port)
        #expect(frames.contains { $0.stream == 1 && $0.ends })
        let written = try await server.rest(
          "POST", Self.v1 + "/books?documentId=dune", "{}", ["Authorization": "Bearer \(key)"])
        #expect(written.status == 200, "\(written)")
        // Several requests on a connection, each checked.
        let get =
          "GET \(Self.v1)/books/dune HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(key)\r\n"
        let both = try await RawConnection.send(
          get + "\r\n" + get + "Connection: close\r\n\r\n", port: server.port)
        #expect(both.components(separatedBy: "HTTP/1.1 200").count == 3, "\(both)")
      }
    }

    @Test func `a database that is open for reading only refuses writes`() async throws {
      let folder = TemporaryFolder()
      let path = folder.path + "/books.hearth"
      var settings = EmbeddedBackend.Settings()
      func open() throws -> EmbeddedBackend {
        try EmbeddedBackend(at: path, named: path, settings, logger: Logger(label: "test"))
      }
      try await TestServer.run(over: open()) { server in
        _ = try await server.set(TestServer.root + "/books/dune", 412)
      }
      settings.store.isReadOnly = true
      try await TestServer.run({ $0.isReadOnly = true }, over: open()) { server in
        let book = Self.v1 + "/books/dune"
        for (method, path) in [
          ("POST", Self.v1 + "/books?documentId=emma"), ("PATCH", book), ("DELETE", book),
          ("POST", Self.v1 + ":commit"),
        ] {
          let body =
            path.hasSuffix(":commit")
            ? #"{"writes":[{"delete":"\#(TestServer.root)/books/dune"}]}"# : "{}"
          let refused = try await server.rest(method, path, method == "DELETE" ? "" : body)
          #expect(
            (400..<500).contains(refused.status), "\(method): \(refused.status) \(refused.body)")
          #expect(refused.error != "INTERNAL")
        }
        let read = try await server.rest("GET", book)
        #expect(read.status == 200 && read.body.contains("412"))
      }
    }

    @Test func `lists come in pages`() async throws {
      try await TestServer.run { server in
        for number in 0..<5 {
          try await server.set(TestServer.root + "/books/b\(number)", Int64(number))
        }
        var names: [String] = []
        var token = ""
        repeat {
          let page = try await server.rest(
            "GET",
            Self.v1 + "/books?pageSize=2&orderBy=n+desc&pageToken="
              + (token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""))
          let documents = page.json["documents"] as? [[String: Any]] ?? []
          names += documents.compactMap { ($0["name"] as? String)?.suffix(2) }.map(String.init)
          token = page.json["nextPageToken"] as? String ?? ""
        } while !token.isEmpty
        #expect(names == ["b4", "b3", "b2", "b1", "b0"])
        let ids = try await server.rest("POST", Self.v1 + ":listCollectionIds", "{}")
        #expect(ids.json["collectionIds"] as? [String] == ["books"])
        let invalid = try await server.rest("GET", Self.v1 + "/books?pageSize=two")
        #expect(invalid.status == 400 && invalid.error == "INVALID_ARGUMENT")
      }
    }

    @Test func `queries answer with an array`() async throws {
      try await TestServer.run { server in
        for number in 0..<300 {
          try await server.set(TestServer.root + "/books/b\(number)", Int64(number))
        }
        let found = try await server.rest(
          "POST", Self.v1 + ":runQuery",
          """
          {"structuredQuery": {"from": [{"collectionId": "books"}], "where": {"fieldFilter":
            {"field": {"fieldPath": "n"}, "op": "GREATER_THAN", "value": {"integerValue": "297"}}}}}
          """)
        #expect(found.status == 200)
        #expect(found.array.compactMap { ($0["document"] as? [String: Any])?["name"] }.count == 2)
        let all = try await server.rest(
          "POST", Self.v1 + ":runQuery",
          #"{"structuredQuery": {"from": [{"collectionId": "books"}]}}"#)
        #expect(all.array.count == 300)
        let none = try await server.rest(
          "POST", Self.v1 + ":runQuery",
          #"{"structuredQuery": {"from": [{"collectionId": "none"}]}}"#)
        #expect(none.array.count == 1 && none.json["readTime"] != nil)
        let sum = try await server.rest(
          "POST", Self.v1 + ":runAggregationQuery",
          """
          {"structuredAggregationQuery": {"structuredQuery": {"from": [{"collectionId": "books"}]},
            "aggregations": [{"alias": "all", "count": {}},
              {"alias": "sum", "sum": {"field": {"fieldPath": "n"}}}]}}
          """)
        let result = sum.json["result"] as? [String: [String: [String: String]]]
        #expect(result?["aggregateFields"]?["all"] == ["integerValue": "300"])
        #expect(result?["aggregateFields"]?["sum"] == ["integerValue": "44850"])
        let parts = try await server.rest(
          "POST", Self.v1 + ":partitionQuery",
          """
          {"partitionCount": 1, "structuredQuery": {"from":
            [{"collectionId": "books", "allDescendants": true}],
            "orderBy": [{"field": {"fieldPath": "__name__"}}]}}
          """)
        #expect((parts.json["partitions"] as? [Any])?.count == 1)
        // The error of a stream is an element of its array.
        let refused = try await server.rest(
          "POST", Self.v1 + ":runQuery",
          """
          {"structuredQuery": {"from": [{"collectionId": "books"}], "where": {"fieldFilter":
            {"field": {"fieldPath": "n"}, "op": "IN", "value": {"arrayValue": {}}}}}}
          """)
        #expect(refused.status == 400 && refused.error == "INVALID_ARGUMENT")
        #expect(refused.body.hasPrefix("["))
        let pipeline = try await server.rest("POST", Self.v1 + ":executePipeline", "{}")
        #expect(pipeline.status == 400 && pipeline.error == "FAILED_PRECONDITION")
      }
    }

    @Test func `transactions and batches work, over a connection for each request`() async throws {
      try await TestServer.run { server in
        func begin(_ options: String = "{}") async throws -> String {
          let begun = try await server.rest(
            "POST", Self.v1 + ":beginTransaction", #"{"options": \#(options)}"#)
          return try #require(begun.json["transaction"] as? String)
        }
        func escaped(_ text: String) -> String {
          text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        }
        let name = TestServer.root + "/books/dune"
        try await server.set(name, 1)
        let first = try await begin()
        let read = try await server.rest(
          "GET", "/v1/\(name)?transaction=" + escaped(first))
        #expect(read.status == 200)
        try await server.set(name, 2)
        let write = #"{"update": {"name": "\#(name)", "fields": {"n": {"integerValue": 3}}}}"#
        let lost = try await server.rest(
          "POST", Self.v1 + ":commit", #"{"transaction": "\#(first)", "writes": [\#(write)]}"#)
        #expect(lost.status == 409 && lost.error == "ABORTED")
        let second = try await begin(#"{"readWrite": {"retryTransaction": "\#(first)"}}"#)
        let got = try await server.rest(
          "POST", Self.v1 + ":batchGet",
          #"{"transaction": "\#(second)", "documents": ["\#(name)", "\#(name)0"]}"#)
        #expect(got.array.count == 2 && got.array.last?["missing"] as? String == name + "0")
        let done = try await server.rest(
          "POST", Self.v1 + ":commit", #"{"transaction": "\#(second)", "writes": [\#(write)]}"#)
        #expect(done.status == 200 && done.json["commitTime"] != nil)
        let third = try await begin(#"{"readOnly": {}}"#)
        let rolledBack = try await server.rest(
          "POST", Self.v1 + ":rollback", #"{"transaction": "\#(third)"}"#)
        #expect(rolledBack.status == 200 && rolledBack.body == "{}")
        let batch = try await server.rest(
          "POST", Self.v1 + ":batchWrite", #"{"writes": [\#(write), {"delete": "nonsense"}]}"#)
        #expect((batch.json["status"] as? [[String: Any]])?.count == 2)
      }
    }

    @Test func `a call's id is in the answer, also in an error`() async throws {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/b", 1)
        for path in ["/a/b", "/a/none"] {
          let answer = try await server.rest(
            "GET", Self.v1 + path, "",
            ["X-Request-Id": "call-7", "X-BIN": "no base 64", "te-bin": "%%%"])
          #expect(answer.headers["x-request-id"] == "call-7")
        }
      }
    }

    @Test(arguments: [
      ("GET", "/v1/x"), ("GET", "/a%2fb"), ("GET", v1 + "/a/b?nonsense=1"),
      ("GET", v1 + "/a/b?alt=media"), ("GET", v1 + "/a/b?readTime=yesterday"),
      ("GET", v1 + "/a?showMissing=maybe"), ("GET", v1 + "/a?pageSize=1&pageSize=2"),
      ("GET", v1 + "/a/b?transaction=%00"), ("GET", v1 + "/a/b?mask.fieldPaths=%FF"),
      ("GET", v1 + "/a/b?mask=1"), ("GET", "/v1/projects/../databases/d/documents/a/b"),
      ("POST", v1 + ":commit"), ("POST", v1 + ":runQuery"), ("POST", v1 + "/a?documentId=__x__"),
      ("PATCH", v1 + "/a/b"), ("DELETE", v1 + "/a/b?currentDocument.exists=1"),
      ("PUT", v1 + "/a/b"), ("BREW", "/"), ("POST", "/shutdown"),
      ("DELETE", "/emulator/v1/" + TestServer.root),
    ])
    func `a caller's mistake is the caller's`(method: String, path: String) async throws {
      try await TestServer.run { server in
        let answer = try await server.rest(method, path, method == "GET" ? "" : "{nonsense")
        #expect((400..<500).contains(answer.status), "\(answer)")
        #expect(answer.error != nil, "\(answer)")
      }
    }

    @Test func `browsers' streams are answered with a sentence`() async throws {
      try await TestServer.run { server in
        let answer = try await server.rest(
          "POST", "/google.firestore.v1.Firestore/Listen/channel?VER=8&RID=1", "count=0")
        #expect(answer.status == 501 && answer.error == "UNIMPLEMENTED")
        #expect(answer.body.contains("WebChannel"))
      }
    }

    @Test func `health is answered without a key, and documents are not`() async throws {
      let key = "0123456789abcdef0123456789abcdef"
      try await TestServer.run({ $0.serviceKeys = [key] }) { server in
        let health = try await server.rest("GET", "/health")
        #expect(health.status == 200 && health.json["status"] as? String == "SERVING")
        #expect(try await server.rest("GET", "/").body == "Ok\n")
        for header in [[:], ["Authorization": "Bearer owner"]] {
          let refused = try await server.rest("GET", Self.v1 + "/a/b", "", header)
          #expect(refused.status == 401 && refused.error == "UNAUTHENTICATED")
        }
        let let_in = try await server.rest(
          "GET", Self.v1 + "/a/b", "", ["Authorization": "Bearer " + key])
        #expect(let_in.status == 404)
      }
    }

    @Test func `pages of other machines are refused, unless there are keys`() async throws {
      try await TestServer.run { server in
        let evil = [
          ["Origin": "https://evil.example"], ["Origin": "null"], ["Host": "evil.example"],
        ]
        for headers in evil {
          let refused = try await server.rest("GET", Self.v1 + "/a/b", "", headers)
          #expect(refused.status == 403, "\(headers)")
          #expect(refused.headers["access-control-allow-origin"] == nil)
        }
        let own = ["Origin": "http://localhost:3000"]
        let read = try await server.rest("GET", Self.v1 + "/a/b", "", own)
        #expect(read.status == 404)
        #expect(read.headers["access-control-allow-origin"] == "http://localhost:3000")
        let asked = try await server.rest("OPTIONS", Self.v1 + "/a/b", "", own)
        #expect(asked.status == 204)
        #expect(asked.headers["access-control-allow-methods"]?.contains("PATCH") == true)
      }
    }

    /// What an image, a link or a form of a page sends: no `Origin`, but where the page is.
    @Test func `requests that pages of other sites cause are refused, unless there are keys`()
      async throws
    {
      let image = ["Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"]
      @Sendable func sent(_ headers: [String: String]) -> [String: String] {
        image.merging(headers) { $1 }
      }
      let refused = [
        ["Sec-Fetch-Site": "cross-site"], ["sec-fetch-site": "Cross-Site"],
        ["Sec-Fetch-Site": "other"], ["Sec-Fetch-Site": "cross-site", "Origin": "null"],
        ["Sec-Fetch-Site": "same-site", "Origin": "https://evil.example"],
      ]
      let answered = [
        [:], ["Sec-Fetch-Site": "none"], ["Sec-Fetch-Site": "same-origin"],
        ["Sec-Fetch-Site": "same-site"],
        // localhost and 127.0.0.1 are two sites, and one machine.
        ["Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:3000"],
      ]
      try await TestServer.run { server in
        for method in ["GET", "POST", "OPTIONS"] {
          for headers in refused {
            let answer = try await server.rest(method, Self.v1 + "/a/b", "", sent(headers))
            #expect(answer.status == 403, "\(method) \(headers)")
          }
        }
        for path in ["/", "/health"] {
          #expect(try await server.rest("GET", path, "", refused[0]).status == 403)
        }
        for headers in answered {
          let answer = try await server.rest("GET", Self.v1 + "/a/b", "", sent(headers))
          #expect(answer.status == 404, "\(headers)")
        }
        let asked = try await server.rest(
          "OPTIONS", Self.v1 + "/a/b", "",
          ["Sec-Fetch-Site": "cross-site", "Origin": "http://127.0.0.1:3000"])
        #expect(asked.status == 204)
      }
      let key = "0123456789abcdef0123456789abcdef"
      try await TestServer.run({ $0.serviceKeys = [key] }) { server in
        let headers = ["Sec-Fetch-Site": "cross-site", "Authorization": "Bearer " + key]
        let answer = try await server.rest("GET", Self.v1 + "/a/b", "", headers)
        #expect(answer.status == 404)
      }
      // On an address that others reach, the same site may be another machine.
      let open = BrowserGuard(hasKeys: false, isLoopback: false)
      for (host, isRefused) in [("db.example.org", true), ("localhost:8080", false)] {
        let headers: HTTPHeaders = ["host": host, "sec-fetch-site": "same-site"]
        let answer = try? open.check(headers)
        #expect((answer == nil) == isRefused, "\(host)")
      }
    }

    @Test func `a read-only transaction cannot write, and a second commit is refused`() async throws
    {
      try await TestServer.run { server in
        let begun = try await server.rest(
          "POST", Self.v1 + ":beginTransaction", #"{"options": {"readOnly": {}}}"#)
        let id = try #require(begun.json["transaction"] as? String)
        let write = #"{"delete": "\#(TestServer.root)/a/b"}"#
        let refused = try await server.rest(
          "POST", Self.v1 + ":commit", #"{"transaction": "\#(id)", "writes": [\#(write)]}"#)
        #expect(refused.status == 400 && refused.error == "INVALID_ARGUMENT")
      }
    }

    @Test func `random bodies are refused or answered`() async throws {
      try await TestServer.run { server in
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let whole = Array(
          """
          {"structuredQuery": {"from": [{"collectionId": "a"}], "limit": 3, "where": {"fieldFilter":
          {"field": {"fieldPath": "n"}, "op": "IN", "value": {"arrayValue": {"values":
          [{"doubleValue": "NaN"}, {"timestampValue": "2026-01-01T00:00:00Z"}, {"nullValue": null},
          {"mapValue": {"fields": {"a": {"bytesValue": "AA=="}}}}]}}}}}}
          """.utf8)
        for number in 0..<300 {
          var body = whole
          for _ in 0..<Int.random(in: 1...3, using: &generator) {
            body[Int.random(in: body.indices, using: &generator)] =
              .random(in: 0x20...0x7E, using: &generator)
          }
          let answer = try await server.rest(
            "POST", Self.v1 + ":runQuery", String(decoding: body, as: UTF8.self))
          #expect([200, 400].contains(answer.status), "seed \(seed), \(number): \(answer)")
        }
      }
    }
  }
#endif
