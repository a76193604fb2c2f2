#if Postgres
  import Foundation
  import Synchronization

  /// A way to the server that counts round trips, and can cut connections at the worst moment.
  package final class PostgresProxy: Sendable {
    /// When a connection is cut that sends a commit.
    package enum Cut: Sendable {
      /// The server has all of it, and its answer does not come back.
      case afterCommit
      /// The server has only a part of it.
      case beforeCommit
    }

    private struct State {
      var roundTrips = 0
      var cut: Cut?
      var cuts = 0
      var isSilent = false
      var isOpen = true
    }

    package let port: UInt16
    private let listening: Int32
    private let target: UInt16
    private let state = Mutex(State())
    /// Added in each direction, in microseconds.
    private let delay: UInt32

    package init(to target: UInt16, delayMicroseconds: UInt32 = 0) throws {
      self.target = target
      delay = delayMicroseconds
      let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      self.listening = listening
      var address = Self.loopback(0)
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(listening, $0, length) == 0 && listen(listening, 64) == 0
            && getsockname(listening, $0, &length) == 0
        }
      }
      guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
      port = UInt16(bigEndian: address.sin_port)
      Thread { [self] in accept() }.start()
    }

    private static func loopback(_ port: UInt16) -> sockaddr_in {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      return address
    }

    /// How often statements were sent whose answer was waited for.
    package var roundTrips: Int { state.withLock { $0.roundTrips } }
    /// The same, once nothing is under way: after a commit the log may be trimmed, and on a slow machine that is
    /// after each.
    package func settledRoundTrips() async throws -> Int {
      var count = roundTrips
      for _ in 0..<100 {
        try await Task.sleep(for: .milliseconds(50))
        if roundTrips == count { break }
        count = roundTrips
      }
      return count
    }

    /// The fewest round trips of some runs: at times expired documents are looked for meanwhile, or notifications
    /// are read.
    package func fewestRoundTrips(of body: () async throws -> Void) async throws -> Int {
      var fewest = Int.max
      for _ in 0..<6 {
        let before = try await settledRoundTrips()
        try await body()
        fewest = min(fewest, roundTrips - before)
      }
      return fewest
    }

    package var cuts: Int { state.withLock { $0.cuts } }

    /// From now on, the next connection that sends a commit is cut.
    package func cutNextCommit(_ cut: Cut = .afterCommit) { state.withLock { $0.cut = cut } }

    /// From now on, connections that are in use are cut, and new ones have no answer.
    package func fallSilent() { state.withLock { $0.isSilent = true } }

    package func close() {
      state.withLock { $0.isOpen = false }
      shutdown(listening, Int32(SHUT_RDWR))
      Glibc.close(listening)
    }

    private func accept() {
      while state.withLock({ $0.isOpen }) {
        let client = Glibc.accept(listening, nil, nil)
        guard client >= 0 else { return }
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = Self.loopback(target)
        let isConnected = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
          }
        }
        var on: Int32 = 1
        for side in [client, server] {
          setsockopt(side, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(4))
        }
        guard isConnected else {
          Glibc.close(client)
          Glibc.close(server)
          continue
        }
        let isSilent = state.withLock { $0.isSilent }
        Thread { [self] in
          if isSilent { wait(for: client) } else { relay(client, server) }
          Glibc.close(client)
          Glibc.close(server)
        }.start()
      }
    }

    /// Until it ends the connection.
    private func wait(for client: Int32) {
      var byte: UInt8 = 0
      while recv(client, &byte, 1, 0) > 0 {}
    }

    /// Both directions of one connection.
    private func relay(_ client: Int32, _ server: Int32) {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      var messages = FrontendMessages()
      while true {
        var polls = [
          pollfd(fd: client, events: Int16(POLLIN), revents: 0),
          pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&polls, 2, -1) > 0 || errno == EINTR else { return }
        if polls[0].revents != 0 {
          let count = recv(client, &buffer, buffer.count, 0)
          guard count > 0, !state.withLock({ $0.isSilent }) else { return }
          let before = messages.roundTrips
          messages.take(buffer.prefix(count))
          let cut = note(messages, messages.roundTrips - before)
          // A part without the end of the commit is undone by the server.
          guard send(buffer, cut == .beforeCommit ? count / 2 : count, to: server) else { return }
          if cut != nil {
            shutdown(server, Int32(SHUT_WR))
            return
          }
        }
        if polls[1].revents != 0 {
          let count = recv(server, &buffer, buffer.count, 0)
          guard count > 0 else { return }
          messages.takeAnswer(buffer.prefix(count))
          guard send(buffer, count, to: client) else { return }
        }
      }
    }

    private func note(_ messages: FrontendMessages, _ roundTrips: Int) -> Cut? {
      state.withLock { state in
        state.roundTrips += roundTrips
        guard messages.isCommitting, let cut = state.cut else { return nil }
        // To be cut behind a commit, it has to be there.
        guard cut == .beforeCommit || messages.hasCommitted else { return nil }
        state.cut = nil
        state.cuts += 1
        return cut
      }
    }

    private func send(_ bytes: [UInt8], _ count: Int, to side: Int32) -> Bool {
      if delay > 0 { usleep(delay) }
      var sent = 0
      while sent < count {
        let written = bytes.withUnsafeBytes {
          Glibc.send(
            side, $0.baseAddress.map { $0 + sent }, count - sent, Int32(MSG_NOSIGNAL))
        }
        guard written > 0 else { return false }
        sent += written
      }
      return true
    }
  }
#endif
