import Foundation
import Hearth
import HearthTesting
import HearthText
import Synchronization
import TestSupport
import Testing

@testable import FirebaseDataConnect

/// The lines of an emulator: no input ends the process, and a connection uses a bounded part of it.
@Suite struct EmulatorLineTests {
  private let connector: TestConnector
  private let server: EmulatorServer

  init() throws {
    connector = try TestConnector(
      schema: "type Movie @table { title: String }",
      operations: """
        query List { movies { title } }
        query Titles @refresh(onMutationExecuted: { operation: "Add" }) { movies { title } }
        mutation Add($title: String) { movie_insert(data: {title: $title}) }
        """)
    server = try EmulatorServer(connector.firestore, host: "127.0.0.1", port: 0)
    try server.serve([connector.connector])
  }

  /// Sends bytes, and returns the lines up to the end of the connection.
  private func exchange(_ bytes: [UInt8], isHalfClosed: Bool = true) async throws -> [String] {
    let socket = try #require(
      LoopbackSocket.connected(host: "127.0.0.1", port: server.port, milliseconds: 5000))
    let read = try await onBlockingThread {
      defer { socket.close() }
      _ = socket.write(bytes)
      if isHalfClosed { socket.endWriting() }
      var read: [UInt8] = []
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = socket.read(into: &buffer)
        guard count > 0 else { return read }
        read += buffer[..<count]
      }
    }
    return String(decoding: read, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  private func exchange(_ text: String, isHalfClosed: Bool = true) async throws -> [String] {
    try await exchange(Array(text.utf8), isHalfClosed: isHalfClosed)
  }

  private func isServing() async throws -> Bool {
    let lines = try await exchange(
      #"{"id":1,"type":"query","connector":"movies","operation":"List"}"# + "\n")
    return lines.count == 2 && lines[1].hasPrefix(#"{"id":1,"data":{"movies":["#)
  }

  @Test func `requests are answered until the other side closes, also without a client`()
    async throws
  {
    defer { server.stop() }
    let lines = try await exchange(
      """
      {"id": 7, "type": "mutation", "connector": "movies", "operation": "Add", "variables": {"title": "a"}}

      """)
    #expect(lines.count == 2 && lines[1].hasPrefix(#"{"id":7,"data":{"movie_insert":{"id":""#))
    let failed = try await exchange(
      #"{"id":8,"type":"query","connector":"movies","operation":"List","variables":{"x":1}}"# + "\n"
    )
    #expect(
      failed.last == #"{"id":8,"data":{"movies":null},"errors":"#
        + #"[{"message":"The operation List has no variable $x."}]}"#)
    let unknown = try await exchange(
      #"{"id":9,"type":"query","service":"a","connector":"movies","operation":"List"}"# + "\n")
    #expect(
      unknown.last?.hasPrefix(#"{"id":9,"failure":"connector","message":"The emulator"#) == true)
  }

  @Test(.timeLimit(patience))
  func `a subscription has signals until its client unsubscribes`() async throws {
    defer { server.stop() }
    let socket = try #require(
      LoopbackSocket.connected(host: "127.0.0.1", port: server.port, milliseconds: 5000))
    defer { socket.close() }
    let hub = SubscriptionHub.shared(for: connector.firestore)
    /// Sends a request, and returns as many lines.
    func lines(_ count: Int, for request: String) async throws -> Set<String> {
      try await onBlockingThread {
        _ = socket.write(Array((request + "\n").utf8))
        var lines: Set<String> = []
        for _ in 0..<count {
          var line: [UInt8] = []
          var byte: [UInt8] = [0]
          while socket.read(into: &byte) == 1, byte[0] != 0x0A { line.append(byte[0]) }
          lines.insert(String(decoding: line, as: UTF8.self))
        }
        return lines
      }
    }
    func subscribe(_ id: Int) -> String {
      #"{"id":\#(id),"type":"subscribe","connector":"movies","operation":"Titles"}"#
    }
    func add(_ id: Int) -> String {
      #"{"id":\#(id),"type":"mutation","connector":"movies","operation":"Add"}"#
    }
    let greeting = EmulatorMessage.greeting.line
    #expect(try await lines(2, for: subscribe(1)) == [greeting, #"{"id":1,"data":{}}"#])
    #expect(hub.count == 1)
    #expect(try await lines(2, for: add(2)).contains(#"{"refresh":1}"#))
    let end = #"{"id":3,"type":"unsubscribe","subscription":1}"#
    #expect(try await lines(1, for: end) == [#"{"id":3,"data":{}}"#])
    #expect(hub.count == 0)
    // The connection goes on, with another subscription.
    #expect(try await lines(1, for: subscribe(4)) == [#"{"id":4,"data":{}}"#])
    let signals = try await lines(2, for: add(5))
    #expect(signals.contains(#"{"refresh":4}"#) && !signals.contains(#"{"refresh":1}"#))
  }

  @Test(.timeLimit(patience))
  func `a line that is no request ends the connection with an error`() async throws {
    defer { server.stop() }
    let deep = String(repeating: "[", count: 100_000)
    for line in [
      "GET / HTTP/1.1\r", "", "{}", "null", #"{"id":1}"#, #"{"id":"1","type":"query"}"#,
      #"{"id":1,"type":"drop"}"#, #"{"id":1,"type":"query"}"#, #"{"id":1.5,"type":"watchRows"}"#,
      #"{"id":1,"type":"query","connector":"movies","operation":"List","variables":[]}"#,
      #"{"id":1,"type":"query","connector":"movies","operation":"List","auth":{}}"#,
      #"{"id":1,"type":"unsubscribe"}"#, deep, "\u{0}",
    ] {
      // The other side keeps its end open.
      let lines = try await exchange(line + "\n" + line + "\n", isHalfClosed: false)
      #expect(
        lines.count == 2 && lines[1].hasPrefix(#"{"error":""#), "\(line.prefix(80)): \(lines)")
    }
    #expect(try await isServing())
  }

  @Test(.timeLimit(patience)) func `a line has a limit`() async throws {
    defer { server.stop() }
    let long = [UInt8](repeating: UInt8(ascii: "a"), count: LineConnection.maximumLineBytes + 1)
    let lines = try await exchange(long, isHalfClosed: false)
    #expect(lines.last?.contains("bytes") == true)
    #expect(try await isServing())
  }

  @Test(.timeLimit(patience)) func `connections have a limit`() async throws {
    defer { server.stop() }
    let sockets = try (0..<64).map { _ in
      try #require(
        LoopbackSocket.connected(host: "127.0.0.1", port: server.port, milliseconds: 5000))
    }
    try await eventually { server.connectionCount == 64 }
    #expect(try await exchange("", isHalfClosed: false).last?.contains("64 connections") == true)
    for socket in sockets { socket.close() }
    try await eventually { server.connectionCount == 0 }
    #expect(try await isServing())
  }

  @Test(.timeLimit(patience))
  func `a connection whose other side takes nothing ends`() async throws {
    server.stop()
    let (listener, port) = try LoopbackSocket.listening(host: "127.0.0.1", port: 0)
    defer { listener.close() }
    let client = try #require(
      LoopbackSocket.connected(host: "127.0.0.1", port: port, milliseconds: 5000))
    defer { client.close() }
    let connection = LineConnection(try #require(listener.accepted()))
    let hasEnded = Mutex(false)
    connection.start { _ in
      .reads
    } onEnd: {
      hasEnded.withLock { $0 = true }
    }
    let line = String(repeating: "x", count: 1 << 20)
    for _ in 0..<100 { connection.send(line) }
    try await eventually { hasEnded.withLock(\.self) }
  }

  @Test(.timeLimit(patience)) func `random bytes and broken requests end no process`()
    async throws
  {
    defer { server.stop() }
    var random = SeededGenerator(seed: 7)
    let requests = [
      #"{"id":1,"type":"query","connector":"movies","operation":"List","variables":{}}"#,
      #"{"id":2,"type":"mutation","connector":"movies","operation":"Add","variables":{"title":"é"}}"#,
      #"{"id":3,"type":"subscribe","connector":"movies","operation":"List"}"#,
      #"{"id":4,"type":"unsubscribe","subscription":3}"#, #"{"id":5,"type":"watchRows"}"#,
      #"{"id":6,"type":"query","connector":"movies","operation":"List","auth":{"uid":"a","token":{"@timestamp":[9,1]}}}"#,
    ]
    for _ in 0..<150 {
      var bytes: [UInt8] = []
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes += Array((requests.randomElement(using: &random) ?? "").utf8) + [0x0A]
      }
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: index)
        default: bytes.insert(contentsOf: bytes.prefix(index), at: index)
        }
        if bytes.isEmpty { bytes = [0] }
      }
      let lines = try await exchange(bytes)
      #expect(lines.first == EmulatorMessage.greeting.line)
      for line in lines {
        #expect(EmulatorMessage(line: Array(line.utf8)) != nil, "\(line)")
      }
    }
    #expect(try await isServing())
  }

  @Test func `a client survives any lines of a server`() {
    var random = SeededGenerator(seed: 8)
    let lines = [
      #"{"id":1,"data":{"a":[1,{"@double":"nan"}]},"errors":[{"message":"m","path":["a",0]}]}"#,
      #"{"id":1,"failure":"internal","message":"m","cause":{"domain":"FIRFirestoreErrorDomain","code":8,"message":"x"}}"#,
      #"{"written":[["movie","1"]]}"#, #"{"refresh":1}"#, #"{"error":"e"}"#,
      #"{"id":1,"data":{"t":{"@timestamp":[9223372036854775807,0]}}}"#,
    ]
    for _ in 0..<20_000 {
      var bytes = Array((lines.randomElement(using: &random) ?? "").utf8)
      for _ in 0..<Int.random(in: 0...2, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(
          in: 0x20...0x7E, using: &random)
      }
      guard let message = EmulatorMessage(line: bytes) else { continue }
      #expect(EmulatorMessage(line: Array(message.line.utf8)) != nil)
    }
  }

  @Test func `every value arrives as it is`() {
    let values: [DataValue] = [
      .null, true, 1, .double(1), .double(-0.0), .double(.infinity),
      .double(.leastNonzeroMagnitude), .int(.min),
      "", "\u{0}\u{7F}é\n\"", ["@double": "nan"], ["@timestamp": [1, 2]], ["@@": ["@": nil]],
      .timestamp(Timestamp(seconds: -62_135_596_800, nanoseconds: 999_999_999)),
      .list([.list([]), .object([:])]),
    ]
    for value in values {
      #expect((try? JSONReader.read(JSON(value).text)).map { DataValue($0) } == value)
    }
  }
}
