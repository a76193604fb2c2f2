import Foundation

/// A way to a server on this machine that takes a while in each direction.
final class DelayingProxy: Sendable {
  let port: UInt16
  private let target: UInt16
  private let delay: UInt32

  init(to target: UInt16, delayMicroseconds delay: UInt32) throws {
    self.target = target
    self.delay = delay
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
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
    Thread { [self] in
      while true {
        let client = accept(listening, nil, nil)
        if client >= 0 { connect(client) }
      }
    }.start()
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private func connect(_ client: Int32) {
    let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(target)
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    guard isConnected else {
      close(client)
      close(server)
      return
    }
    var on: Int32 = 1
    for side in [client, server] {
      setsockopt(side, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(4))
    }
    Thread { [self] in relay(client, server) }.start()
    Thread { [self] in relay(server, client) }.start()
  }

  private func relay(_ from: Int32, _ to: Int32) {
    var buffer = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = recv(from, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      usleep(delay)
      var sent = 0
      while sent < count {
        let written = buffer.withUnsafeBytes {
          Glibc.send(to, $0.baseAddress.map { $0 + sent }, count - sent, Int32(MSG_NOSIGNAL))
        }
        guard written > 0 else { return }
        sent += written
      }
    }
    shutdown(to, Int32(SHUT_WR))
  }
}
