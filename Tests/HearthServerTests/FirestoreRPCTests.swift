#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import HearthEngine
  import SwiftProtobuf
  import TestSupport
  import Testing

  @testable import HearthServer

  /// The calls that Google's clients seldom make, and those that no client should.
  @Suite struct FirestoreRPCTests {
    @Test func `documents are created, updated and deleted`() async throws {
      try await TestServer.run { server in
        let created = try await server.client.createDocument(
          .with {
            $0.parent = TestServer.root
            $0.collectionID = "books"
            $0.document.fields["n"] = .with { $0.integerValue = 1 }
          })
        #expect(created.path.hasPrefix("books/") && created.path.utf8.count == 26)
        #expect(created.createTime == created.updateTime)
        let updated = try await server.client.updateDocument(
          .with {
            $0.document.name = created.name
            $0.document.fields["m"] = .with { $0.integerValue = 2 }
            $0.updateMask.fieldPaths = ["m"]
            $0.mask.fieldPaths = ["m"]
          })
        #expect(updated.fields.keys.sorted() == ["m"])
        _ = try await server.client.deleteDocument(.with { $0.name = created.name })
        let missing = await #expect(throws: RPCError.self) { try await server.get(created.name) }
        #expect(missing?.code == .notFound)
      }
    }

    @Test func `a batch of documents has each once, those that are found first`() async throws {
      try await TestServer.run { server in
        for id in ["b", "d"] { try await server.set(TestServer.root + "/books/\(id)", 1) }
        let answers = try await server.client.batchGetDocuments(
          .with {
            $0.database = TestServer.database
            $0.documents = "abcdabd".map { TestServer.root + "/books/\($0)" }
          }
        ) { response in
          try await response.messages.reduce(into: [String]()) { all, message in
            switch message.result {
            case .found(let document): all.append("found " + document.name.suffix(1))
            case .missing(let name): all.append("missing " + name.suffix(1))
            case nil: break
            }
          }
        }
        #expect(answers == ["found b", "found d", "missing a", "missing c"])
      }
    }

    @Test func `lists come in pages, in any order`() async throws {
      try await TestServer.run { server in
        for number in 0..<7 {
          try await server.set(TestServer.root + "/books/b\(number)", Int64(number / 2))
        }
        var found: [String] = []
        var token = ""
        repeat {
          let page = try await server.client.listDocuments(
            .with {
              $0.parent = TestServer.root
              $0.collectionID = "books"
              $0.orderBy = "n desc, __name__"
              $0.pageSize = 2
              $0.pageToken = token
            })
          found += page.documents.map { String($0.path.suffix(2)) }
          token = page.nextPageToken
        } while !token.isEmpty
        #expect(found == ["b6", "b4", "b5", "b2", "b3", "b0", "b1"])
        // Fields whose names need backquotes.
        let field = #"a, `b\ "#
        for number in 0..<3 {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = [
                .with {
                  $0.update.name = TestServer.root + "/quoted/q\(number)"
                  $0.update.fields[field] = .with { $0.integerValue = Int64(number / 2) }
                }
              ]
            })
        }
        let page = try await server.client.listDocuments(
          .with {
            $0.parent = TestServer.root
            $0.collectionID = "quoted"
            $0.orderBy = #"`a, \`b\\ ` desc, __name__ desc"#
          })
        #expect(page.documents.map { String($0.path.suffix(2)) } == ["q2", "q1", "q0"])
        for invalid in ["n up", "n desc desc", "n,", "`n", "n `desc`"] {
          let refused = await #expect(throws: RPCError.self) {
            _ = try await server.client.listDocuments(
              .with {
                $0.parent = TestServer.root
                $0.collectionID = "books"
                $0.orderBy = invalid
              })
          }
          #expect(refused?.code == .invalidArgument, "\(invalid)")
        }
      }
    }

    @Test func `a plan counts the results of the answer, also in the past and in a transaction`()
      async throws
    {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/1", 1)
        let old = try await server.set(TestServer.root + "/a/2", 1).commitTime
        let transaction = try await server.client.beginTransaction(
          .with {
            $0.database = TestServer.database
            $0.options.readOnly = .init()
          }
        ).transaction
        try await server.set(TestServer.root + "/a/3", 1)
        let states: [(ProtoRunQueryRequest.OneOf_ConsistencySelector?, Int)] = [
          (nil, 3), (.readTime(old), 2), (.transaction(transaction), 2),
        ]
        for (state, count) in states {
          func answers(analyzes: Bool) async throws -> [ProtoRunQueryResponse] {
            try await server.client.runQuery(
              .with {
                $0.parent = TestServer.root
                $0.structuredQuery.from = [.with { $0.collectionID = "a" }]
                if analyzes { $0.explainOptions.analyze = true }
                $0.consistencySelector = state
              }
            ) { response in
              try await response.messages.reduce(into: []) { $0.append($1) }
            }
          }
          let found = try await answers(analyzes: true)
          let stats = try #require(found.last).explainMetrics.executionStats
          #expect(found.count == count)
          #expect(stats.resultsReturned == count && stats.readOperations == count)
          let scanned = stats.debugStats.fields["documents_scanned"]?.stringValue ?? ""
          #expect(Int(scanned).map { $0 >= count } == true, "\(scanned)")
          let plain = try await answers(analyzes: false)
          #expect(plain.map(\.document) == found.map(\.document))
          #expect(plain.allSatisfy { !$0.hasExplainMetrics })

          let counted = try await server.client.runAggregationQuery(
            .with {
              $0.parent = TestServer.root
              $0.structuredAggregationQuery.structuredQuery.from = [.with { $0.collectionID = "a" }]
              $0.structuredAggregationQuery.aggregations = [
                .with {
                  $0.alias = "n"
                  $0.count = .init()
                }
              ]
              $0.explainOptions.analyze = true
              $0.consistencySelector = state.map {
                switch $0 {
                case .transaction(let id): .transaction(id)
                case .readTime(let time): .readTime(time)
                case .newTransaction(let options): .newTransaction(options)
                }
              }
            }
          ) { response in
            try await response.messages.reduce(into: []) { $0.append($1) }
          }
          let last = try #require(counted.last)
          #expect(last.result.aggregateFields["n"]?.integerValue == Int64(count))
          #expect(last.explainMetrics.executionStats.resultsReturned == 1)
        }
      }
    }

    @Test func `collection ids come in pages of each size, now and in the past`() async throws {
      try await TestServer.run { server in
        let ids = ["a", "b", "c", "d", "e"]
        let document = TestServer.root + "/a/x"
        var time = try await server.set(document, 1).commitTime
        for id in ids.dropFirst() {
          time = try await server.set("\(TestServer.root)/\(id)/x", 1).commitTime
        }
        func pages(
          of parent: String, _ size: Int32, at time: Google_Protobuf_Timestamp? = nil
        ) async throws -> [[String]] {
          var pages: [[String]] = []
          var token = ""
          repeat {
            let page = try await server.client.listCollectionIds(
              .with {
                $0.parent = parent
                $0.pageSize = size
                $0.pageToken = token
                if let time { $0.readTime = time }
              })
            pages.append(page.collectionIds)
            token = page.nextPageToken
          } while !token.isEmpty
          return pages
        }
        let sizes = 1...6
        let expected = sizes.map { size in
          stride(from: 0, to: ids.count, by: size).map { start in
            Array(ids[start..<min(start + size, ids.count)])
          }
        }
        for (size, expected) in zip(sizes, expected) {
          #expect(try await pages(of: TestServer.root, Int32(size)) == expected, "\(size)")
        }
        // Below a document, and of other collections since.
        for id in ids { try await server.set("\(document)/\(id)/x", 1) }
        try await server.set(TestServer.root + "/f/x", 1)
        for (size, expected) in zip(sizes, expected) {
          #expect(try await pages(of: document, Int32(size)) == expected, "\(size)")
          #expect(
            try await pages(of: TestServer.root, Int32(size), at: time) == expected, "\(size)")
        }
      }
    }

    @Test func `a batch's writes succeed and fail alone`() async throws {
      try await TestServer.run { server in
        let response = try await server.client.batchWrite(
          .with {
            $0.database = TestServer.database
            $0.writes = [
              .with { $0.update.name = TestServer.root + "/a/1" },
              .with {
                $0.update.name = TestServer.root + "/a/2"
                $0.currentDocument.exists = true
              },
              .with { $0.update.name = "nonsense" },
            ]
          })
        #expect(response.status.map(\.code) == [0, 5, 3])
        #expect(response.writeResults.map(\.hasUpdateTime) == [true, false, false])
      }
    }

    @Test func `a batch that writes a document twice writes nothing`() async throws {
      try await TestServer.run { server in
        let refused = await #expect(throws: RPCError.self) {
          try await server.client.batchWrite(
            .with {
              $0.database = TestServer.database
              $0.writes = ["1", "2", "1"].map { id in
                .with { $0.update.name = TestServer.root + "/a/" + id }
              }
            })
        }
        #expect(refused?.code == .invalidArgument)
        let missing = await #expect(throws: RPCError.self) {
          try await server.get(TestServer.root + "/a/2")
        }
        #expect(missing?.code == .notFound)
      }
    }

    @Test func `a write stream commits in order`() async throws {
      try await TestServer.run { server in
        let tokens = try await server.client.write { writer in
          try await writer.write(.with { $0.database = TestServer.database })
          for number in 0..<3 {
            try await writer.write(
              .with {
                $0.writes = [
                  .with {
                    $0.update.name = TestServer.root + "/a/x"
                    $0.update.fields["n"] = .with { $0.integerValue = Int64(number) }
                  }
                ]
              })
          }
        } onResponse: { response in
          try await response.messages.reduce(into: []) { $0.append($1.streamToken) }
        }
        #expect(tokens.count == 4 && Set(tokens).count == 4)
        #expect(
          try await server.get(TestServer.root + "/a/x").fields["n"]?.integerValue == 2)
      }
    }

    /// Clients send a commit again after `unavailable` and `resourceExhausted`.
    @Test func `a commit whose outcome is unknown is not sent again by clients`() {
      for code in [HearthEngine.Status.Code.unavailable, .resourceExhausted, .unknown] {
        var status = HearthEngine.Status(code, "lost")
        #expect(RPCError(status).code.rawValue == code.rawValue)
        #expect(ProtoStatus(status).code == Int32(code.rawValue))
        status.mayBeDone = true
        #expect(RPCError(status).code == .unknown)
        #expect(ProtoStatus(status).code == 2)
      }
    }

    @Test func `reading and writing need no change log`() async throws {
      try await TestServer.run { server in
        let backend = try #require(server.backend as? EmbeddedBackend)
        try await backend.setRetention(
          ChangeLogRetention(age: .zero, limitBytes: 0), isDefault: false)
        let name = TestServer.root + "/a/b"
        try await server.set(name, 0)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<2 {
            group.addTask {
              while !Task.isCancelled {
                try await server.set(TestServer.root + "/a/\(writer)", .random(in: 0...9))
                // Other tests run at the same time.
                try? await Task.sleep(for: .milliseconds(5))
              }
            }
          }
          defer { group.cancelAll() }
          for number in 0..<20 {
            try await server.client.runQuery(
              .with {
                $0.parent = TestServer.root
                $0.structuredQuery.from = [.with { $0.collectionID = "a" }]
              }
            ) { for try await _ in $0.messages {} }
            let updated = try await server.client.updateDocument(
              .with {
                $0.document.name = name
                $0.document.fields["n"] = .with { $0.integerValue = Int64(number) }
              })
            #expect(updated.fields["n"]?.integerValue == Int64(number))
          }
        }
      }
    }

    @Test func `listening needs no change log`() async throws {
      try await TestServer.run { server in
        let backend = try #require(server.backend as? EmbeddedBackend)
        try await backend.setRetention(
          ChangeLogRetention(age: .zero, limitBytes: 0), isDefault: false)
        let query = ProtoStructuredQuery.with {
          $0.from = [.with { $0.collectionID = "a" }]
          $0.where.fieldFilter = .with {
            $0.field.fieldPath = "n"
            $0.op = .lessThan
            $0.value.integerValue = 5
          }
        }
        let writing = Task {
          for number in 0..<300 {
            // In and out of the query; some are deleted.
            let name = TestServer.root + "/a/\(number % 7)"
            if number % 11 == 10 {
              _ = try await server.client.deleteDocument(.with { $0.name = name })
            } else {
              try await server.set(name, Int64(number * 3 % 10))
            }
          }
          try await server.set(TestServer.root + "/a/last", 1)
        }
        let client = try await server.client.listen { writer in
          try await writer.write(
            .with {
              $0.database = TestServer.database
              $0.addTarget.targetID = 1
              $0.addTarget.query.parent = TestServer.root
              $0.addTarget.query.structuredQuery = query
            })
          await untilCancelled()
        } onResponse: { response in
          var client = ListeningClient()
          var time = Google_Protobuf_Timestamp()
          for try await message in response.messages {
            guard try client.take(message) else { continue }
            #expect((time.seconds, time.nanos) <= (client.readTime.seconds, client.readTime.nanos))
            time = client.readTime
            if client.documents["a/last"] != nil { break }
          }
          return client
        }
        try await writing.value
        let expected = try await server.client.runQuery(
          .with {
            $0.parent = TestServer.root
            $0.structuredQuery = query
          }
        ) { response in
          try await response.messages.reduce(into: [String: ProtoDocument]()) {
            if $1.hasDocument { $0[$1.document.path] = $1.document }
          }
        }
        #expect(client.documents == expected && expected.count > 1)
      }
    }

    @Test func `a query has as many parts as its documents allow`() async throws {
      try await TestServer.run { server in
        for part in 0..<2 {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = (0..<200).map { number in
                .with { $0.update.name = TestServer.root + "/a/\(part * 200 + number)" }
              }
            })
        }
        for (count, cursors) in [(1, 1), (2, 2), (3, 2), (Int64.max, 2)] as [(Int64, Int)] {
          let response = try await server.client.partitionQuery(
            .with {
              $0.parent = TestServer.root
              $0.structuredQuery.from = [
                .with {
                  $0.collectionID = "a"
                  $0.allDescendants = true
                }
              ]
              $0.partitionCount = count
            })
          #expect(response.partitions.count == cursors, "\(count)")
        }
      }
    }

    @Test func `a result of several parts comes in order, once each`() async throws {
      try await TestServer.run { server in
        for part in 0..<2 {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = (0..<300).map { number in
                .with {
                  $0.update.name = TestServer.root + "/a/\(part)-\(number)"
                  $0.update.fields["n"] = .with { $0.integerValue = Int64(part * 300 + number) }
                }
              }
            })
        }
        let found = try await server.client.runQuery(
          .with {
            $0.parent = TestServer.root
            $0.structuredQuery.from = [.with { $0.collectionID = "a" }]
            $0.structuredQuery.orderBy = [.with { $0.field.fieldPath = "n" }]
            $0.structuredQuery.offset = 3
            $0.explainOptions.analyze = true
          }
        ) { response in
          try await response.messages.reduce(into: []) { $0.append($1) }
        }
        #expect(found.compactMap { $0.document.fields["n"]?.integerValue } == Array(3..<600))
        #expect(found.map(\.skippedResults) == [3] + Array(repeating: 0, count: 596))
        #expect(
          found.filter(\.hasExplainMetrics).count == 1 && found.last?.hasExplainMetrics == true)
      }
    }

    @Test func `pipelines are refused as by a Standard database`() async throws {
      try await TestServer.run { server in
        let refused = await #expect(throws: RPCError.self) {
          try await server.client.executePipeline(.with { $0.database = TestServer.database }) {
            for try await _ in $0.messages {}
          }
        }
        #expect(refused?.code == .failedPrecondition)
      }
    }

    @Test(arguments: [
      "", "x", "projects//databases/(default)/documents/a/b",
      "projects/../databases/(default)/documents/a/b",
      "projects/p/databases/../documents/a/b", "projects/p/databases/a%2Fb/documents/a/b",
      "projects/p/databases/(default)/documents", "projects/p/databases/(default)/documents/a",
      "projects/p/databases/(default)/documents//b",
      "projects/p/databases/(default)/documents/a/\u{0}/c/..",
      "projects/(default)/databases/(default)/documents/a/b",
      "projects/p/databases/(default)/documents/a/__x__",
    ])
    func `invalid names are invalid arguments`(name: String) async throws {
      try await TestServer.run { server in
        let calls: [@Sendable () async throws -> Void] = [
          { _ = try await server.get(name) },
          { try await server.set(name, 1) },
          { _ = try await server.client.deleteDocument(.with { $0.name = name }) },
          {
            try await server.client.runQuery(.with { $0.parent = name }) {
              for try await _ in $0.messages {}
            }
          },
        ]
        for (index, call) in calls.enumerated() {
          let refused = await #expect(throws: RPCError.self, "call \(index)") { try await call() }
          let code = refused?.code
          #expect(
            code == .invalidArgument || code == .notFound && index == 0,
            "call \(index): \(String(describing: refused))")
        }
      }
    }

    /// A random message of a client never ends the process, and is never an internal error.
    @Test func `random messages are refused or answered`() async throws {
      try await TestServer.run { server in
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for number in 0..<2000 {
          let query = ProtoStructuredQuery.random(&generator)
          do {
            try await server.client.runQuery(
              .with {
                $0.parent = TestServer.root
                $0.structuredQuery = query
              }
            ) { for try await _ in $0.messages {} }
          } catch let error as RPCError {
            #expect(
              [.invalidArgument, .failedPrecondition].contains(error.code),
              "seed \(seed), \(number): \(error) \(query)")
          }
        }
      }
    }
  }

  extension ProtoStructuredQuery {
    /// A valid query, with some of its bytes changed.
    fileprivate static func random(_ generator: inout SeededGenerator) -> ProtoStructuredQuery {
      let whole = ProtoStructuredQuery.with {
        $0.from = [.with { $0.collectionID = "a" }]
        $0.where.fieldFilter = .with {
          $0.field.fieldPath = "n"
          $0.op = .in
          $0.value.arrayValue.values = [
            .with { $0.referenceValue = TestServer.root + "/a/b" },
            .with { $0.timestampValue = .init(seconds: 1, nanos: 2) },
            .with { $0.geoPointValue.latitude = 91 },
            .with { $0.mapValue.fields = ["a": .with { $0.doubleValue = .nan }] },
          ]
        }
        $0.orderBy = [
          .with {
            $0.field.fieldPath = "n"
            $0.direction = .descending
          }
        ]
        $0.startAt.values = [.with { $0.stringValue = "x" }]
        $0.offset = 1
        $0.limit.value = 3
        $0.findNearest = .with {
          $0.vectorField.fieldPath = "v"
          $0.queryVector.arrayValue = .init()
          $0.limit.value = 3
        }
      }
      while true {
        guard var bytes = try? whole.bytes else { return whole }
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          bytes[Int.random(in: bytes.indices, using: &generator)] =
            .random(in: 0 ... .max, using: &generator)
        }
        if let query = try? ProtoStructuredQuery(serializedBytes: bytes) { return query }
      }
    }
  }
#endif
