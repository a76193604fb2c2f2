#if Server
  import NIOCore
  import NIOEmbedded
  import Testing

  @testable import HearthServer

  /// The time that clients give their calls.
  @Suite struct CallTimeoutTests {
    @Test func `a timeout is one to eight digits and a unit`() {
      for (text, time) in [
        ("1S", .seconds(1)), ("0n", .zero), ("00000001m", .milliseconds(1)),
        ("99999999u", .microseconds(99_999_999)), ("12345678n", .nanoseconds(12_345_678)),
        ("2M", .minutes(2)), ("3H", .hours(3)), ("8784H", .hours(8784)),
        // More than a year is no limit, and never out of the range of a clock.
        ("8785H", nil), ("9999999H", nil), ("99999999H", nil), ("99999999M", nil),
      ] as [(String, TimeAmount?)] {
        #expect(CallTimeout(text) != nil, "\(text)")
        #expect(CallTimeout(text)?.time == time, "\(text)")
      }
      for text in [
        "", "S", "1", "-1S", "+1S", "-0S", " 1S", "1S ", "1 S", "1s", "1h", "1SS", "123456789S",
        "000000001S", "1.5S", "1e3S", "0x1S", "\u{661}S", "1\u{660}S", "1\u{17F}", "1S\u{301}",
        "1S,2S",
        "S1", "--1S", "9223372036854775807S",
      ] {
        #expect(CallTimeout(text) == nil, "\(text)")
      }
    }

    @Test func `every short text is a timeout or none`() {
      let alphabet = Array("019-+ HMSmunx\u{661}")
      let digits = Set("019")
      for first in alphabet {
        for second in alphabet {
          for third in alphabet {
            let isValid =
              digits.contains(first) && digits.contains(second) && "HMSmun".contains(third)
            #expect((CallTimeout(String([first, second, third])) != nil) == isValid)
          }
        }
      }
    }

    @Test func `calls end at their time, in order, and those that are removed do not`() {
      let loop = EmbeddedEventLoop()
      let deadlines = CallDeadlines()
      var ended: [String] = []
      _ = deadlines.add(.seconds(60), on: loop) { ended.append("a") }
      let removed = deadlines.add(.seconds(3), on: loop) { ended.append("removed") }
      var last = 0
      _ = deadlines.add(.seconds(2), on: loop) {
        ended.append("b")
        deadlines.remove(last)
      }
      _ = deadlines.add(.seconds(1), on: loop) { ended.append("c") }
      last = deadlines.add(.seconds(2), on: loop) { ended.append("removed by b") }
      deadlines.remove(removed)
      loop.advanceTime(by: .milliseconds(999))
      #expect(ended == [])
      loop.advanceTime(by: .milliseconds(1))
      #expect(ended == ["c"])
      loop.advanceTime(by: .seconds(30))
      #expect(ended == ["c", "b"])
      loop.advanceTime(by: .seconds(30))
      #expect(ended == ["c", "b", "a"])
      _ = deadlines.add(.zero, on: loop) { ended.append("d") }
      loop.advanceTime(by: .zero)
      #expect(ended.last == "d")
      _ = deadlines.add(.seconds(1), on: loop) { ended.append("closed") }
      deadlines.removeAll()
      loop.advanceTime(by: .seconds(5))
      #expect(ended.last == "d")
    }

    // MARK: Served

    /// The frames of a call's answer.
    private static func answer(
      _ timeouts: [String], method: String = "GetDocument", ends: Bool = true,
      _ server: TestServer
    ) async throws -> [Frame] {
      let name = TestServer.root + "/a/b"
      let message = [0x0A, UInt8(name.utf8.count)] + name.utf8
      var call = Frame.call(1, method)
      for timeout in timeouts {
        call.payload += Frame.headers(1, [(CallTimeout.header, timeout)], ends: false).payload
      }
      let body = ends ? [0, 0, 0, 0, UInt8(message.count)] + message : []
      let parts = [
        Frame.preface, Frame(kind: .settings, flags: 1, stream: 0).bytes,
        call.bytes + Frame.data(1, body, ends: ends).bytes,
      ]
      let received = try await RawConnection.send(
        parts,
        until: { Frame.all($0).contains { $0.stream == 1 && $0.ends } }, port: server.port)
      return Frame.all(received).filter { $0.stream == 1 }
    }

    /// gRPC's parser traps on a sign: one such request ended the server.
    @Test func `a timeout that is none is refused, and the server goes on`() async throws {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/b", 1)
        for timeouts in [["-1S"], ["+1S"], [""], ["1x"], ["123456789n"], ["1S", "1S"]] {
          for ends in [true, false] {
            let frames = try await Self.answer(
              timeouts, ends: ends, server)
            let first = frames.first
            #expect(first?.kind == .headers && first?.ends == true, "\(timeouts)")
            #expect(frames.dropFirst().allSatisfy { $0.errorCode == 0 }, "\(timeouts)")
            #expect(first?.grpcStatus == 3, "\(timeouts) \(ends)")
          }
        }
        // Not read by gRPC over REST.
        let answer = try await server.rest(
          "GET", "/v1/\(TestServer.root)/a/b", "", ["grpc-timeout": "-1S"])
        #expect(answer.status == 200)
      }
    }

    @Test func `eight digits are honoured, and the longest time of all is no limit`() async throws {
      try await TestServer.run { server in
        try await server.set(TestServer.root + "/a/b", 1)
        for timeout in ["99999999H", "99999999S", "00000060S", "9999999H"] {
          let frames = try await Self.answer([timeout], server)
          #expect(frames.contains { $0.kind == .data }, "\(timeout)")
          #expect(frames.last?.grpcStatus == 0, "\(timeout)")
        }
        for timeout in ["00000300m", "300m", "99999999n", "0n"] {
          let frames = try await Self.answer(
            [timeout], method: "Listen", ends: false, server)
          #expect(frames.first?.kind == .headers, "\(timeout)")
          #expect(frames.contains { $0.grpcStatus == 4 && $0.ends }, "\(timeout)")
        }
      }
    }
  }

  extension Frame {
    /// The status of a call of gRPC, of one digit, as HPACK with Huffman's code has it first.
    fileprivate var grpcStatus: Int? {
      let name: [UInt8] = [0x88, 0x9A, 0xCA, 0xC8, 0xB2, 0x12, 0x34, 0xDA, 0x8F, 0x81]
      guard kind == .headers, let place = payload.firstRange(of: name)?.upperBound,
        place < payload.count
      else { return nil }
      return [0x07: 0, 0x0F: 1, 0x17: 2, 0x67: 3, 0x6B: 4][payload[place]]
    }
  }
#endif
