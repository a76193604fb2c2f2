#if Tools
  import Foundation
  import Hearth
  import TestSupport
  import Testing

  /// The tool from outside: what people type, and what they see.
  @Suite(.ownThreads) struct CommandTests {
    let hearth = HearthProcess()

    /// As `get --json` prints them.
    static let everyType = """
      {"big":{"integerValue":"-9223372036854775808"},"bytes":{"bytesValue":"aGVhcnRo"},\
      "empty":{"mapValue":{"fields":{}}},"flag":{"booleanValue":true},\
      "geo":{"geoPointValue":{"latitude":59.91,"longitude":-10.0}},\
      "infinite":{"doubleValue":"-Infinity"},\
      "list":{"arrayValue":{"values":[{"integerValue":"1"},{"doubleValue":1.0},\
      {"mapValue":{"fields":{"a":{"arrayValue":{"values":[{"doubleValue":2.5}]}}}}}]}},\
      "looksTyped":{"mapValue":{"fields":{"stringValue":{"stringValue":"x"}}}},\
      "map":{"mapValue":{"fields":{"z":{"nullValue":null},"é":{"stringValue":"\\n\\"\\\\"}}}},\
      "nan":{"doubleValue":"NaN"},"negativeZero":{"doubleValue":-0.0},"none":{"nullValue":null},\
      "ref":{"referenceValue":"books/emma"},"text":{"stringValue":"Dune 🏜"},\
      "vector":{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},\
      "value":{"arrayValue":{"values":[{"doubleValue":0.25},{"doubleValue":-1.0}]}}}}},\
      "when":{"timestampValue":"1965-08-01T12:00:00.000001Z"}}
      """

    @Test func `a document of every type comes back as it was set`() throws {
      let document = #"{"fields":"# + Self.everyType + "}"
      let set = try hearth("set", "a.hearth", "books/dune", document, "--json")
      #expect(set.status == 0 && set.error.isEmpty, "\(set.error)")
      let got = try hearth("get", "a.hearth", "books/dune", "--json")
      #expect(got.status == 0)
      #expect(got.lines.count == 1)
      let prefix = #"{"name":"books/dune","fields":"# + Self.everyType + #","createTime":""#
      #expect(got.output.hasPrefix(prefix), "\(got.output)")
      #expect(set.output == got.output)
      // What get prints, set takes; and typed values may be mixed with plain ones.
      let again = try hearth("set", "a.hearth", "books/copy", "-", "--json", input: got.output)
      #expect(again.output.contains(#""fields":"# + Self.everyType))
      let mixed = try hearth("set", "a.hearth", "books/mixed", Self.everyType)
      #expect(mixed.status == 0 && mixed.output.isEmpty)
      #expect(
        try hearth("get", "a.hearth", "books/mixed", "--json").output
          .contains(#""fields":"# + Self.everyType))
    }

    @Test func `a document of the REST interface is set with --json, also an empty one`() throws {
      for (fields, stored) in [
        ("", "{}"), (#","fields":null"#, "{}"),
        (
          #","fields":{"t":{"timestampValue":"2014-10-02T15:01:23+05:30"},"b":{"bytesValue":"-_8"}}"#,
          #"{"b":{"bytesValue":"+/8="},"t":{"timestampValue":"2014-10-02T09:31:23Z"}}"#
        ),
        (#","fields":{"d":{"double_value":1e19}}"#, #"{"d":{"doubleValue":1e+19}}"#),
      ] {
        let name = #""name":"projects/p/databases/(default)/documents/a/b""#
        let set = try hearth("set", "a.hearth", "books/dune", "{\(name)\(fields)}", "--json")
        #expect(set.status == 0 && set.output.contains(#""fields":\#(stored),"#), "\(set)")
      }
      // All of it is typed: what is plain is an error, rather than something else.
      let plain = try hearth("set", "a.hearth", "books/dune", #"{"fields":{"a":1}}"#, "--json")
      #expect(plain.status == 1 && plain.error.contains("Expected a value"), "\(plain.error)")
    }

    @Test func `a schema shows classes with their pointers and relations`() throws {
      _ = try hearth("set", "a.hearth", "Author/a", #"{"name": "Ann"}"#)
      _ = try hearth(
        "set", "a.hearth", "Book/dune",
        #"{"title": "Dune", "year": 1965, "isbn": {"referenceValue": "ISBN/1"}, "mixed": true}"#)
      _ = try hearth("set", "a.hearth", "Book/emma", #"{"mixed": "x", "tags": ["a"]}"#)
      _ = try hearth(
        "set", "a.hearth", "_Join:authors:Book/4:dunea",
        #"{"owner": {"referenceValue": "Book/dune"}, "related": {"referenceValue": "Author/a"}}"#)
      let shown = try hearth("schema", "a.hearth")
      #expect(shown.status == 0, "\(shown.error)")
      #expect(
        shown.lines == [
          "Author", "  name      String", "  objectId  String", "Book",
          "  authors   Relation<Author>", "  isbn      Pointer<ISBN>", "  mixed     Boolean|String",
          "  objectId  String", "  tags      Array", "  title     String", "  year      Number",
        ])
      #expect(try hearth("schema", "a.hearth", "--sample", "0").status != 0)
    }

    @Test func `an export and get print a document alike`() throws {
      // Made and changed at different times.
      _ = try hearth("set", "a.hearth", "books/dune", "{}")
      _ = try hearth("set", "a.hearth", "books/dune", Self.everyType)
      let exported = try hearth("export", "a.hearth", "-").lines
      #expect(
        exported.dropFirst().first
          == (try hearth("get", "a.hearth", "books/dune", "--json")).lines.first)
    }

    @Test func `a document is shown for people`() throws {
      _ = try hearth(
        "set", "a.hearth", "books/dune",
        #"{"title": "Dune", "author": {"name": "Frank Herbert"}, "in": {"referenceValue": "shelves/a"}}"#
      )
      let shown = try hearth("get", "a.hearth", "books/dune")
      let expected = [
        "books/dune", "  author:", #"    name: "Frank Herbert""#, "  in: → shelves/a",
        #"  title: "Dune""#,
      ]
      #expect(Array(shown.lines.prefix(5)) == expected)
      #expect(shown.lines.last?.hasPrefix("  (created 2") == true)
    }

    @Test func `merging keeps what is not mentioned, setting does not`() throws {
      _ = try hearth("set", "a.hearth", "books/dune", #"{"a": 1, "b": {"c": 2}}"#)
      _ = try hearth("set", "a.hearth", "books/dune", #"{"b": {"d": 3}}"#, "--merge")
      let merged = try hearth("get", "a.hearth", "books/dune")
      #expect(
        Array(merged.lines.prefix(5)) == ["books/dune", "  a: 1", "  b:", "    c: 2", "    d: 3"])
      _ = try hearth("set", "a.hearth", "books/dune", #"{"e": 4}"#)
      #expect(
        try hearth("get", "a.hearth", "books/dune").lines.prefix(2) == ["books/dune", "  e: 4"])
    }

    @Test func `a collection and a group are listed in the order of their names`() throws {
      for path in ["books/emma", "books/dune", "shelves/a/books/lost", "books/dune/notes/1"] {
        _ = try hearth("set", "a.hearth", path, "{}")
      }
      let ids = try hearth("list", "a.hearth", "books").lines.map { $0.prefix(4) }
      #expect(ids == ["dune", "emma", "(2 d"])
      let group = try hearth("list", "a.hearth", "books", "--group", "--json").lines
      #expect(
        group.map { $0.prefix { $0 != "," } } == [
          #"{"name":"books/dune""#, #"{"name":"books/emma""#, #"{"name":"shelves/a/books/lost""#,
        ])
      let limited = try hearth("list", "a.hearth", "books", "--limit", "1")
      #expect(limited.lines.last == "(the first 1 of 2 documents)")
      #expect(try hearth("list", "a.hearth", "nothing").output == "(0 documents)\n")
    }

    @Test func `watching shows what is there, then what other processes commit`() async throws {
      _ = try hearth("set", "a.hearth", "books/dune", #"{"pages": 412}"#)
      let watch = try hearth.start(["watch", "a.hearth", "books", "--json", "--count", "4"])
      #expect(try await watch.reaches(lines: 1))
      _ = try hearth("set", "a.hearth", "books/emma", "{}")
      #expect(try await watch.reaches(lines: 2))
      _ = try hearth("set", "a.hearth", "books/dune", #"{"pages": 500}"#)
      #expect(try await watch.reaches(lines: 3))
      _ = try hearth("delete", "a.hearth", "books/emma")
      #expect(try await watch.reaches(lines: 4))
      let beginnings = [
        #"{"change":"added","newIndex":0,"document":{"name":"books/dune","fields":{"pages":{"integerValue":"412"}},"#,
        #"{"change":"added","newIndex":1,"document":{"name":"books/emma","fields":{},"createTime":"#,
        #"{"change":"modified","oldIndex":0,"newIndex":0,"document":{"name":"books/dune","fields":{"pages":"#
          + #"{"integerValue":"500"}},"#,
        #"{"change":"removed","oldIndex":1,"document":{"name":"books/emma"}}"#,
      ]
      let lines = watch.output.split(separator: "\n")
      #expect(
        lines.count == 4 && zip(lines, beginnings).allSatisfy { $0.hasPrefix($1) }, "\(lines)")
      #expect(watch.finish().status == 0)
    }

    @Test func `a document that is not there yet can be watched`() async throws {
      _ = try hearth("set", "a.hearth", "other/one", "{}")
      let watch = try hearth.start(["watch", "a.hearth", "books/dune", "--count", "2"])
      #expect(try await watch.reaches(lines: 1))
      _ = try hearth("set", "a.hearth", "books/dune", #"{"pages": 412}"#)
      let result = watch.finish()
      #expect(
        result.lines == [
          "(books/dune is not there yet; watching for it)", "+ books/dune  {pages: 412}",
        ])
    }

    @Test func `a query is watched with places and what changed`() async throws {
      for (id, pages) in [("dune", 412), ("emma", 300), ("short", 20)] {
        _ = try hearth("set", "a.hearth", "books/\(id)", #"{"pages": \#(pages), "n": 1}"#)
      }
      let query = "books where pages > 100 order by pages desc limit 2"
      let watch = try hearth.start(["watch", "a.hearth", query, "--count", "4"])
      #expect(try await watch.reaches(lines: 4))
      for (id, fields, lines) in [
        ("emma", #"{"pages": 200}"#, 5), ("emma", #"{"pages": 450}"#, 6),
        ("dune", #"{"pages": 9}"#, 7),
      ] {
        _ = try hearth("set", "a.hearth", "books/\(id)", fields, "--merge")
        #expect(try await watch.reaches(lines: lines))
      }
      let result = watch.finish()
      #expect(result.status == 0)
      #expect(
        result.lines == [
          "      n  pages", "dune  1  412  ", "emma  1  300  ", "(2 documents; watching)",
          "~ 2 books/emma  pages: 300 → 200", "~ 2→1 books/emma  pages: 200 → 450",
          "- 2 books/dune",
        ])
    }

    @Test func `counts and sums are watched`() async throws {
      _ = try hearth("set", "a.hearth", "books/dune", #"{"pages": 412}"#)
      let watch = try hearth.start(
        ["watch", "a.hearth", "books count, sum(pages)", "--count", "2"])
      #expect(try await watch.reaches(lines: 1))
      _ = try hearth("set", "a.hearth", "books/emma", #"{"pages": 300}"#)
      #expect(watch.finish().lines == ["count: 1  sum(pages): 412", "count: 2  sum(pages): 712"])
    }

    @Test func `a database is counted`() throws {
      for path in ["books/dune", "books/emma", "books/dune/notes/1"] {
        _ = try hearth("set", "a.hearth", path, #"{"a": 1}"#)
      }
      let counted = try hearth("stat", "a.hearth", "--json")
      let json = try #require(
        try JSONSerialization.jsonObject(with: Data(counted.output.utf8)) as? [String: Any])
      #expect(json["documents"] as? Int == 3)
      #expect(json["changesLogged"] as? Int == 3)
      #expect(json["formatVersion"] as? Int == 7)
      let size = try FileManager.default.attributesOfItem(atPath: hearth.folder.path + "/a.hearth")
      #expect(json["fileBytes"] as? Int == size[.size] as? Int)
      let collections = try #require(json["collections"] as? [[String: Any]])
      #expect(collections.map { $0["path"] as? String } == ["books", "books/dune/notes"])
      #expect(collections.map { $0["documents"] as? Int } == [2, 1])
      #expect(collections.allSatisfy { ($0["bytes"] as? Int ?? 0) > 0 })
      let shown = try hearth("stat", "a.hearth")
      #expect(shown.lines.first?.hasPrefix("collection") == true)
      #expect(shown.lines.contains { $0.hasPrefix("books/dune/notes ") })
    }

    @Test func `a file's retention holds for processes with other settings`() async throws {
      let db = try Firestore.open(at: hearth.folder.path + "/a.hearth")
      try await db.document("books/dune").setData(["a": 0])
      try await db.setChangeLogRetention(
        ChangeLogRetention(age: .seconds(86_400), limitBytes: 0))
      try await db.terminate()
      let before = try stat("a.hearth")
      #expect(before["oldestReadableTime"] is NSNull)
      #expect(before["retentionEnd"] is NSNull)
      for n in 1...3 { _ = try hearth("set", "a.hearth", "books/dune", "{\"a\": \(n)}") }
      let after = try stat("a.hearth")
      // A commit removes what was logged before it.
      #expect(after["changesLogged"] as? Int == 1)
      #expect(after["isRetentionStored"] as? Bool == true)
      #expect(after["retentionSeconds"] as? Int == 86_400)
      #expect(after["retentionEnd"] as? String == "size")
      let oldest = try #require(after["oldestReadableTime"] as? String)
      let shown = try hearth("stat", "a.hearth")
      #expect(
        shown.lines.contains { $0.hasPrefix("readable     since \(oldest) (the log is full)") })
    }

    private func stat(_ file: String) throws -> [String: Any] {
      try #require(
        try JSONSerialization.jsonObject(
          with: Data(hearth("stat", file, "--json").output.utf8)) as? [String: Any])
    }

    @Test(arguments: [
      (["get", "none.hearth", "books/dune"], "There is no database at none.hearth."),
      (["get", "a.hearth", "books/none"], "There is no document books/none in a.hearth."),
      (["delete", "a.hearth", "books/none"], "There is no document books/none in a.hearth."),
      (
        ["get", "a.hearth", "books"],
        "books is a collection. List its documents with: hearth list a.hearth books"
      ),
      (
        ["set", "a.hearth", "books/dune", #"{"a": }"#],
        "The JSON is not valid: expected a value at line 1, column 7."
      ),
      (
        ["set", "a.hearth", "books/dune", "[]"],
        #"A document's fields are a JSON object: {"title": "Dune"}."#
      ),
      (
        ["set", "a.hearth", "books/dune", #"{"a": {"integerValue": "one"}}"#],
        #"integerValue cannot be "one"; it looks like {"integerValue": "412"}."#
      ),
      (
        ["set", "a.hearth", "books/dune", #"{"a": 1}"#, "--json"],
        #"A document has no member "a". With --json the input is a document, as get --json prints it: {"fields": {"pages": {"integerValue": "412"}}}."#
      ),
      (
        ["get", "text.hearth", "a/b"], "Cannot open text.hearth. The file is not an LMDB database."
      ),
    ])
    func `what goes wrong is said in one sentence`(arguments: [String], sentence: String) throws {
      _ = try hearth("set", "a.hearth", "books/dune", "{}")
      try "hello".write(
        toFile: hearth.folder.path + "/text.hearth", atomically: true, encoding: .utf8)
      let result = try hearth.start(arguments).finish()
      #expect(result.status == 1)
      #expect(result.output.isEmpty)
      let error = result.error.replacingOccurrences(of: hearth.folder.path + "/", with: "")
      #expect(error == "Error: \(sentence)\n")
      #expect(!FileManager.default.fileExists(atPath: hearth.folder.path + "/none.hearth"))
      #expect(
        try hearth("get", "a.hearth", "books/dune", "--json").output.contains(#""fields":{}"#))
    }
  }
#endif
