#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import SwiftProtobuf
  import Testing

  /// The recorded queries, over the wire.
  @Suite struct WireQueryTests {
    @Test func `recorded queries find the same`() async throws {
      let (count, failures) = try await TestServer.run { server in
        let vectors = try RecordedVectors("queries")
        try await RecordedVectors.add(vectors.members["documents"], to: server.client)
        var failures: [String] = []
        let queries = vectors.cases("queries")
        for element in queries {
          do {
            // A limit to the last is the client's: it asks in reverse.
            let isTurned = element.members["serverQuery"] != nil
            var found = try await server.documents(
              element, try element.message(isTurned ? "serverQuery" : "query"))
            if isTurned { found.reverse() }
            if found.map(\.path) != element.names("expected") {
              failures.append("\(element.id): \(found.map(\.path))")
            } else if element.members["expectedFields"] != nil {
              let expected = try element.list("expectedFields").map {
                try RecordedVectors.Case(["fields": $0.members]).message() as ProtoDocument
              }
              for (document, expected) in zip(found, expected)
              where try document.onlyFields.bytes != expected.bytes {
                failures.append("\(element.id): other fields of \(document.path)")
              }
            }
          } catch {
            failures.append("\(element.id): \(error)")
          }
        }
        return (queries.count, failures)
      }
      #expect(failures == [])
      print("queries over the wire: \(count), \(failures.count) differences")
    }

    @Test func `recorded refusals are the same`() async throws {
      let (count, failures) = try await TestServer.run { server in
        var failures: [String] = []
        var count = 0
        for element in try RecordedVectors("queries").cases("invalid") {
          guard let query: ProtoStructuredQuery = try? element.message("query") else { continue }
          count += 1
          do {
            _ = try await server.documents(element, query)
            failures.append("\(element.id) was accepted")
          } catch  where element.expects(error) {
          } catch {
            failures.append("\(element.id): \(error)")
          }
        }
        return (count, failures)
      }
      #expect(failures == [])
      print("refusals over the wire: \(count), \(failures.count) differences")
      #expect(count > 180)
    }

    @Test func `recorded aggregations come out the same`() async throws {
      let (count, failures) = try await TestServer.run { server in
        let vectors = try RecordedVectors("aggregates")
        try await RecordedVectors.add(vectors.members["documents"], to: server.client)
        var failures: [String] = []
        let cases = vectors.cases("cases")
        for element in cases {
          do {
            let query: ProtoStructuredQuery = try element.message("query")
            let aggregations: [ProtoStructuredAggregationQuery.Aggregation] =
              try element.messages("aggregations")
            let request = ProtoRunAggregationQueryRequest.with {
              $0.parent = element.parent
              $0.structuredAggregationQuery.structuredQuery = query
              $0.structuredAggregationQuery.aggregations = aggregations
            }
            let results = try await server.client.runAggregationQuery(request) { response in
              try await response.messages.reduce(into: []) { $0.append($1) }
            }
            let expected: ProtoAggregationResult = try RecordedVectors.Case(
              ["aggregateFields": element.members["expected"] ?? [:]]
            ).message()
            let found = results.first?.result.aggregateFields ?? [:]
            let isRight =
              try found.count == expected.aggregateFields.count
              && found.allSatisfy { alias, value in
                try expected.aggregateFields[alias]?.isClose(to: value) == true
              }
            if !isRight || results.count != 1 { failures.append("\(element.id): \(results)") }
          } catch  where element.expects(error) {
          } catch {
            failures.append("\(element.id): \(error)")
          }
        }
        return (cases.count, failures)
      }
      #expect(failures == [])
      print("aggregations over the wire: \(count), \(failures.count) differences")
    }

    @Test func `recorded searches find the same neighbours`() async throws {
      let (count, failures) = try await TestServer.run { server in
        let vectors = try RecordedVectors("findnearest")
        try await RecordedVectors.add(vectors.members["documents"], to: server.client)
        var failures: [String] = []
        let cases = vectors.cases("cases")
        for element in cases {
          do {
            if let fault = try await Self.fault(element, server) {
              failures.append("\(element.id): \(fault)")
            }
          } catch  where element.expects(error) {
          } catch {
            failures.append("\(element.id): \(error)")
          }
        }
        return (cases.count, failures)
      }
      #expect(failures == [])
      print("searches over the wire: \(count), \(failures.count) differences")
    }

    /// Documents at equal distance may come in any order, and any of them may be left out at the
    /// end.
    private static func fault(
      _ element: RecordedVectors.Case, _ server: TestServer
    ) async throws -> String? {
      var query: ProtoStructuredQuery = try element.message("query")
      let shown = try await server.documents(element, query)
      if element.code != nil { return "was accepted" }
      let expected = element.names("expected")
      let distances = (element.members["distances"] as? [Any] ?? []).map {
        ($0 as? NSNumber)?.doubleValue ?? .nan
      }
      var found = shown
      // Only where it does not take the place of what is compared.
      if query.findNearest.distanceResultField.isEmpty {
        query.findNearest.distanceResultField = "distanceFound"
        query.clearSelect()
        found = try await server.documents(element, query)
      }
      let field = query.findNearest.distanceResultField
      guard found.count == expected.count else { return "\(found.map(\.path))" }
      func areClose(_ a: Double, _ b: Double) -> Bool { abs(a - b) <= 1e-9 * max(1, abs(b)) }
      for (document, distance) in zip(found, distances) {
        let own = document.fields[field]?.doubleValue ?? .nan
        guard areClose(own, distance) else { return "distance \(own), not \(distance)" }
      }
      let last = distances.last ?? .nan
      let certain = Set(zip(expected, distances).filter { !areClose($0.1, last) }.map(\.0))
      guard certain.isSubset(of: found.map(\.path)) else { return "\(found.map(\.path))" }
      for (name, fields) in zip(expected, element.list("expectedFields"))
      where certain.contains(name) {
        let expected: ProtoDocument = try RecordedVectors.Case(["fields": fields.members]).message()
        guard let document = shown.first(where: { $0.path == name }) else { return "no \(name)" }
        guard document.fields.keys.sorted() == expected.fields.keys.sorted(),
          try expected.fields.allSatisfy({ key, value in
            let own = document.fields[key] ?? ProtoValue()
            return try own.bytes == value.bytes || areClose(own.doubleValue, value.doubleValue)
          })
        else { return "\(name) has other fields" }
      }
      return nil
    }
  }

  extension RecordedVectors.Case {
    var parent: String {
      let parent = members["parent"] as? String ?? ""
      return parent.isEmpty ? TestServer.root : TestServer.root + "/" + parent
    }
  }

  extension TestServer {
    fileprivate func documents(
      _ element: RecordedVectors.Case, _ query: ProtoStructuredQuery
    ) async throws -> [ProtoDocument] {
      let request = ProtoRunQueryRequest.with {
        $0.parent = element.parent
        $0.structuredQuery = query
      }
      return try await client.runQuery(request) { response in
        try await response.messages.reduce(into: []) {
          if $1.hasDocument { $0.append($1.document) }
        }
      }
    }
  }

  extension ProtoDocument {
    fileprivate var onlyFields: ProtoDocument { .with { $0.fields = fields } }
  }

  extension ProtoValue {
    fileprivate func isClose(to other: ProtoValue) throws -> Bool {
      if try bytes == other.bytes { return true }
      guard case .doubleValue(let a)? = valueType, case .doubleValue(let b)? = other.valueType
      else { return false }
      return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    }
  }
#endif
