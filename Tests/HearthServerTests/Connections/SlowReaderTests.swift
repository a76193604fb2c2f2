#if Server
  import FirestoreProtocol
  import Foundation
  import SwiftProtobuf
  import Testing

  @testable import HearthServer

  /// Clients that read slowly get all of their answer, and those that do not read are cut.
  @Suite struct SlowReaderTests {
    /// Bytes that the client reads at a time, and how often.
    private static let (step, pause) = (65_535, Duration.milliseconds(2200))
    private static let (documents, size) = (6, 200_000)

    struct Answer {
      let bytes: Int
      let hasEnded: Bool
      let isCut: Bool

      init(_ received: [UInt8]) {
        let frames = Frame.all(received).filter { $0.stream == 1 }
        bytes = frames.filter { $0.kind == .data }.map(\.payload.count).reduce(0, +)
        hasEnded = frames.contains(where: \.ends)
        isCut = frames.contains { $0.kind == .reset && $0.errorCode != 0 }
      }
    }

    /// The answer on a stream, once it `isEnough`. The peer opens its window so many times.
    private static func read(
      _ request: [Frame], steps: Int, _ server: TestServer, until isEnough: (Answer) -> Bool
    ) async throws -> Answer {
      func window(_ stream: UInt32, _ count: Int) -> [UInt8] {
        Frame(
          kind: .window, stream: stream,
          payload: (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
        ).bytes
      }
      // Streams begin with a window of one byte; the connection's is never the limit.
      let settings = Frame(kind: .settings, stream: 0, payload: [0, 4, 0, 0, 0, 1]).bytes
      let begin =
        [UInt8](ProtocolChooser.preface) + settings + window(0, 1 << 30)
        + Frame(kind: .settings, flags: 1, stream: 0).bytes + request.flatMap(\.bytes)
      // Longer than any machine needs.
      let least = steps > 0 ? documents * size : 0
      let received = try await RawConnection.send(
        [begin] + (0..<steps).map { _ in window(1, step) }, pause: pause,
        until: { $0.count > least && isEnough(Answer($0)) }, port: server.port)
      return Answer(received)
    }

    private static func frames(
      _ method: String, _ message: some SwiftProtobuf.Message, ends: Bool
    ) throws -> [Frame] {
      let content: [UInt8] = try message.serializedBytes()
      let head = [0] + (0..<4).map { UInt8(truncatingIfNeeded: content.count >> (24 - 8 * $0)) }
      return [.call(1, method), .data(1, head + content, ends: ends)]
    }

    private static var requests: [(name: String, frames: [Frame], ends: Bool)] {
      get throws {
        let names = (0..<documents).map { TestServer.root + "/large/\($0)" }
        let query = ProtoStructuredQuery.with { $0.from = [.with { $0.collectionID = "large" }] }
        return [
          (
            "Listen",
            try frames(
              "Listen",
              ProtoListenRequest.with {
                $0.database = TestServer.database
                $0.addTarget.targetID = 1
                $0.addTarget.query.parent = TestServer.root
                $0.addTarget.query.structuredQuery = query
              }, ends: false), false
          ),
          (
            "RunQuery",
            try frames(
              "RunQuery",
              ProtoRunQueryRequest.with {
                $0.parent = TestServer.root
                $0.structuredQuery = query
              }, ends: true), true
          ),
          (
            "BatchGetDocuments",
            try frames(
              "BatchGetDocuments",
              ProtoBatchGetDocumentsRequest.with {
                $0.database = TestServer.database
                $0.documents = names
              }, ends: true), true
          ),
          // One message.
          (
            "ListDocuments",
            try frames(
              "ListDocuments",
              ProtoListDocumentsRequest.with {
                $0.parent = TestServer.root
                $0.collectionID = "large"
              }, ends: true), true
          ),
          ("REST", [.request(1, "GET", "/v1/\(TestServer.root)/large")], true),
        ]
      }
    }

    @Test func `a client that reads slowly gets all, and one that does not read is cut`()
      async throws
    {
      try await TestServer.run({ $0.limits.writeTime = .seconds(16) }) { server in
        for number in 0..<Self.documents {
          _ = try await server.client.commit(
            .with {
              $0.database = TestServer.database
              $0.writes = [
                .with {
                  $0.update.name = TestServer.root + "/large/\(number)"
                  $0.update.fields["s"] = .with {
                    $0.stringValue = String(repeating: "x", count: Self.size)
                  }
                }
              ]
            })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (name, frames, ends) in try Self.requests {
            group.addTask {
              // More than three times as long as the client has for a part.
              let slow = try await Self.read(frames, steps: 24, server) {
                $0.bytes >= Self.documents * Self.size && $0.hasEnded == ends || $0.isCut
              }
              #expect(slow.bytes >= Self.documents * Self.size, "\(name)")
              // A listener stays until the client has gone.
              #expect(slow.hasEnded == ends && !slow.isCut, "\(name)")
            }
            group.addTask {
              let silent = try await Self.read(frames, steps: 0, server, until: \.isCut)
              #expect(silent.bytes <= 1 && !silent.hasEnded && silent.isCut, "\(name)")
            }
          }
          try await group.waitForAll()
        }
      }
    }
  }
#endif
