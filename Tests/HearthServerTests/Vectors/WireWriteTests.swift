#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import SwiftProtobuf
  import Testing

  /// The recorded commits, over the wire.
  @Suite struct WireWriteTests {
    private struct Difference: Error, CustomStringConvertible { var description: String }

    @Test func `recorded commits do the same`() async throws {
      let (count, failures) = try await TestServer.run { server in
        var failures: [String] = []
        let cases = try RecordedVectors("writes").cases("cases")
        for element in cases {
          do { try await Self.replay(element, server) } catch {
            failures.append("\(element.id) \(element.members["about"] ?? ""): \(error)")
          }
        }
        return (cases.count, failures)
      }
      #expect(failures == [])
      print("writes over the wire: \(count), \(failures.count) differences")
    }

    private static func replay(_ element: RecordedVectors.Case, _ server: TestServer) async throws {
      try await RecordedVectors.add(element.members["documents"], to: server.client)
      let names = element.list("documents").compactMap { $0.members["name"] as? String }
      let results = element.list("result")
      let all = Set(names + results.compactMap { $0.members["name"] as? String })
      let before = try await documents(all, server)
      let writes = try element.list("writes").map { try write($0, before) }
      let response: ProtoCommitResponse
      do {
        response = try await server.client.commit(
          .with {
            $0.database = TestServer.database
            $0.writes = writes
          })
      } catch {
        let isAnyCode = element.members["codeIsEmulatorOnly"] as? Bool == true
        guard element.expects(error) || isAnyCode && element.code != nil else { throw error }
        let after = try await documents(all, server)
        try expect(
          try after.mapValues { try $0.bytes } == before.mapValues { try $0.bytes },
          "something was applied")
        try await delete(all, server)
        return
      }
      guard element.code == nil else { throw Difference(description: "was accepted") }
      let after = try await documents(all, server)
      let time = response.commitTime
      for (index, recorded) in element.list("writeResults").enumerated() {
        let found = response.writeResults[index]
        switch recorded.members["updateTime"] as? String {
        case "commit": try expect(found.updateTime == time, "write \(index) has another time")
        case "unchanged":
          try expect(
            found.updateTime == before[writes[index].update.path]?.updateTime,
            "write \(index) has another time")
        default: try expect(!found.hasUpdateTime, "write \(index) has a time")
        }
        let expected: [ProtoValue] = try recorded.at(time).messages("transformResults")
        try expect(
          try expected.map { try $0.bytes } == found.transformResults.map { try $0.bytes },
          "transforms of write \(index) are \(found.transformResults)")
      }
      for recorded in results {
        let name = recorded.members["name"] as? String ?? ""
        let found = after[name]
        try expect((found != nil) == recorded.members["exists"] as? Bool, "\(name) exists")
        guard let found else { continue }
        let expected: ProtoDocument = try RecordedVectors.Case(
          ["fields": recorded.members["fields"] ?? [:]]
        ).at(time).message()
        try expect(
          try expected.bytes == ProtoDocument.with { $0.fields = found.fields }.bytes,
          "\(name) is \(found.fields)")
        let isUpdated = recorded.members["updateTime"] as? String == "commit"
        let isCreated = recorded.members["createTime"] as? String == "commit"
        try expect(
          found.updateTime == (isUpdated ? time : before[name]?.updateTime)
            && found.createTime == (isCreated ? time : before[name]?.createTime),
          "\(name) has other times")
      }
      try await delete(all, server)
    }

    private static func expect(_ isRight: Bool, _ difference: String) throws {
      if !isRight { throw Difference(description: difference) }
    }

    /// With the time that the precondition describes.
    private static func write(
      _ recorded: RecordedVectors.Case, _ before: [String: ProtoDocument]
    ) throws -> ProtoWrite {
      var recorded = recorded
      let condition = recorded.members["currentDocument"] as? [String: Any]
      guard let moment = condition?["updateTime"] as? String else { return try recorded.message() }
      recorded.members["currentDocument"] = nil
      var write: ProtoWrite = try recorded.message()
      let name =
        switch write.operation {
        case .update(let document)?: document.path
        case .delete(let name)?, .verify(let name)?:
          String(name.dropFirst(TestServer.root.count + 1))
        default: ""
        }
      var time =
        before[name]?.updateTime ?? Google_Protobuf_Timestamp(date: Date().addingTimeInterval(-60))
      time.nanos -= time.nanos % 1000
      if moment == "stale" { time.seconds -= 1 }
      if moment == "future" { time.seconds += 3600 }
      write.currentDocument.updateTime = time
      return write
    }

    private static func documents(
      _ names: Set<String>, _ server: TestServer
    ) async throws -> [String: ProtoDocument] {
      let request = ProtoBatchGetDocumentsRequest.with {
        $0.database = TestServer.database
        $0.documents = names.map { TestServer.root + "/" + $0 }
      }
      return try await server.client.batchGetDocuments(request) { response in
        try await response.messages.reduce(into: [:]) {
          if case .found(let document)? = $1.result { $0[document.path] = document }
        }
      }
    }

    private static func delete(_ names: Set<String>, _ server: TestServer) async throws {
      _ = try await server.client.commit(
        .with {
          $0.database = TestServer.database
          $0.writes = names.map { name in .with { $0.delete = TestServer.root + "/" + name } }
        })
    }
  }

  extension RecordedVectors.Case {
    /// With the time of the commit as the time of the request.
    fileprivate func at(_ time: Google_Protobuf_Timestamp) throws -> RecordedVectors.Case {
      let text = try time.jsonString()
      func replaced(_ json: Any) -> Any {
        if let list = json as? [Any] { return list.map(replaced) }
        guard let members = json as? [String: Any] else { return json }
        return members.mapValues { value in
          value as? String == "REQUEST_TIME" ? String(text.dropFirst().dropLast()) : replaced(value)
        }
      }
      return RecordedVectors.Case(replaced(members) as? [String: Any] ?? [:])
    }
  }
#endif
