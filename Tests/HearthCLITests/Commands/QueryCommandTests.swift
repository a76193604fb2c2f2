#if Tools
  import Foundation
  import TestSupport
  import Testing

  @Suite(.ownThreads) struct QueryCommandTests {
    private let hearth = HearthProcess()

    init() throws {
      for (id, fields) in [
        ("dune", #"{"title": "Dune", "pages": 412, "tags": ["sand", "classic"], "year": 1965}"#),
        ("emma", #"{"title": "Emma", "pages": 474.5, "tags": ["classic"], "year": 1815}"#),
        ("it", #"{"title": "It", "pages": 1138, "year": null, "a": {"b-c": 1}}"#),
      ] {
        _ = try hearth("set", "a.hearth", "books/\(id)", fields)
      }
      _ = try hearth("set", "a.hearth", "books/it/reviews/1", #"{"stars": 5}"#)
    }

    private func ids(_ query: String) throws -> [String] {
      let result = try hearth("query", "a.hearth", query, "--json")
      #expect(result.error == "")
      return result.lines.compactMap { line in
        line.split(separator: "\"").dropFirst(3).first.map(String.init)
      }
    }

    @Test(arguments: [
      ("books", ["dune", "emma", "it"]),
      ("books where pages > 412 and pages < 1000", ["emma"]),
      (#"books where title == "Dune" or year is null"#, ["dune", "it"]),
      (#"books where (title == "Dune" or title == "It") and pages > 500"#, ["it"]),
      (#"books where title in ["Dune", "Emma"] order by year"#, ["emma", "dune"]),
      (#"books where title not in ["Dune"]"#, ["emma", "it"]),
      (#"books where tags contains "classic" limit 1"#, ["dune"]),
      (#"books where tags contains any ["sand", "x"]"#, ["dune"]),
      ("books where year is not null", ["emma", "dune"]),
      ("books where pages is not nan", ["dune", "emma", "it"]),
      ("books where a.`b-c` == 1", ["it"]),
      (#"books where __name__ >= {"referenceValue": "books/emma"}"#, ["emma", "it"]),
      ("books order by pages desc limit 2", ["it", "emma"]),
      ("books ORDER BY pages limit last 1", ["it"]),
      ("books order by pages start after 412 end at 474.5", ["emma"]),
      ("books order by pages start at 412 end before 1138 offset 1", ["emma"]),
      ("books where year != 1815", ["dune"]),
      ("all reviews where stars >= 5", ["it/reviews/1"]),
    ])
    func `a query finds its documents`(query: String, found: [String]) throws {
      #expect(try ids(query) == found.map { "books/" + $0 })
    }

    @Test func `results are told as a table, with chosen fields, as numbers`() throws {
      #expect(
        try hearth("query", "a.hearth", "books order by year select title, year").lines == [
          "      title   year", "it    \"It\"    null", "emma  \"Emma\"  1815",
          "dune  \"Dune\"  1965",
          "(3 documents)",
        ])
      #expect(
        try hearth("query", "a.hearth", "books where pages > 0 count, sum(pages), average(year)")
          .lines == ["count: 3", "sum(pages): 2024.5", "average(year): 1890.0"])
      #expect(
        try hearth("query", "a.hearth", "books count", "--json").output
          == "{\"count\":{\"integerValue\":\"3\"}}\n")
    }

    @Test func `how an answer is found is explained`() throws {
      let plain = try hearth("explain", "a.hearth", "books order by pages")
      #expect(plain.lines.first == "every document of the scope")
      #expect(plain.lines.last?.contains(#""fieldPath":"pages""#) == true)
      let json = try hearth("explain", "a.hearth", "books order by pages", "--analyze", "--json")
      #expect(json.output.contains(#""documentsRead":3"#))
      let beside = try hearth(
        "query", "a.hearth", "books where pages > 1000", "--json", "--explain")
      #expect(beside.lines.count == 1 && beside.error.contains("1 returned in"))
    }

    @Test(arguments: [
      ("", "expected the path of a collection at the end"),
      ("books where", "expected a field at the end"),
      (
        "books where pages",
        "expected ==, !=, <, <=, >, >=, in, not in, contains, contains any or is at the end"
      ),
      ("books where pages > 1 and", "expected a field at the end"),
      ("books where (pages > 1", "expected ) at the end"),
      ("books limit many", "expected a number at the end"),
      (
        "books sorted",
        "expected where, order by, start, end, limit, offset, select, count, sum or average "
          + "before: sorted"
      ),
    ])
    func `what cannot be read is said in one sentence`(query: String, sentence: String) throws {
      let result = try hearth("query", "a.hearth", query)
      #expect(result.status == 1 && result.output.isEmpty)
      #expect(result.error == "Error: The query cannot be read: \(sentence)\n")
    }
  }
#endif
