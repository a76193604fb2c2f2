import Foundation

/// A TCP socket of this machine.
struct LoopbackSocket: Sendable {
  let descriptor: Int32

  /// The address cannot be used.
  struct AddressError: Error, CustomStringConvertible {
    let description: String
  }

  private static var stream: Int32 {
    #if canImport(Musl)
      Int32(SOCK_STREAM)
    #else
      Int32(SOCK_STREAM.rawValue)
    #endif
  }

  /// A socket that listens, and its port: for 0, one that the system chooses.
  ///
  /// Throws `AddressError` for an address that other machines can reach, and for one in use.
  static func listening(
    host: String, port: Int
  ) throws(AddressError) -> (socket: LoopbackSocket, port: Int) {
    try first(host, port) { address, length throws(AddressError) in
      guard isLoopback(address) else {
        throw AddressError(
          description: "\(host) is not an address of this machine alone: use 127.0.0.1.")
      }
      let socket = try LoopbackSocket(family: address.pointee.sa_family)
      var isOn: Int32 = 1
      setsockopt(
        socket.descriptor, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
      guard bind(socket.descriptor, address, length) == 0, listen(socket.descriptor, 64) == 0
      else {
        let problem = systemError()
        socket.close()
        throw AddressError(description: "Cannot listen on \(host):\(port): \(problem).")
      }
      return (socket, socket.port)
    }
  }

  /// A socket that is connected. Nil if nobody listens, or does not answer in time.
  static func connected(host: String, port: Int, milliseconds: Int32) -> LoopbackSocket? {
    try? first(host, port) { address, length throws(AddressError) in
      let socket = try LoopbackSocket(family: address.pointee.sa_family)
      let flags = fcntl(socket.descriptor, F_GETFL)
      _ = fcntl(socket.descriptor, F_SETFL, flags | O_NONBLOCK)
      var isConnected = connect(socket.descriptor, address, length) == 0
      if !isConnected, errno == EINPROGRESS, socket.wait(for: Int32(POLLOUT), milliseconds) {
        var error: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        getsockopt(socket.descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
        isConnected = error == 0
      }
      _ = fcntl(socket.descriptor, F_SETFL, flags)
      guard isConnected, !socket.isConnectedToItself else {
        socket.close()
        throw AddressError(description: "Nobody listens on \(host):\(port).")
      }
      socket.sendsAtOnce()
      return socket
    }
  }

  private init(family: sa_family_t) throws(AddressError) {
    descriptor = socket(Int32(family), Self.stream, 0)
    guard descriptor >= 0 else { throw AddressError(description: Self.systemError()) }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  private init(accepted descriptor: Int32) {
    self.descriptor = descriptor
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    sendsAtOnce()
  }

  private static func systemError() -> String { String(cString: strerror(errno)) }

  /// Calls `body` with the addresses of a host, until it succeeds.
  private static func first<Result>(
    _ host: String, _ port: Int,
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(AddressError) -> Result
  ) throws(AddressError) -> Result {
    var hints = addrinfo()
    hints.ai_socktype = stream
    var list: UnsafeMutablePointer<addrinfo>?
    var failure = AddressError(description: "There is no address \(host):\(port).")
    guard (0...65535).contains(port), getaddrinfo(host, String(port), &hints, &list) == 0 else {
      throw failure
    }
    defer { freeaddrinfo(list) }
    var next = list
    while let info = next {
      next = info.pointee.ai_next
      guard let address = info.pointee.ai_addr else { continue }
      do throws(AddressError) {
        return try body(address, info.pointee.ai_addrlen)
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func isLoopback(_ address: UnsafePointer<sockaddr>) -> Bool {
    switch Int32(address.pointee.sa_family) {
    case AF_INET:
      address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 24 == 127
      }
    case AF_INET6:
      address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
        withUnsafeBytes(of: address.pointee.sin6_addr) { bytes in
          bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
        }
      }
    default: false
    }
  }

  private static func port(
    _ descriptor: Int32,
    _ ask: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> Int? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutablePointer(to: &storage) { storage in
      let found = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        ask(descriptor, $0, &length)
      }
      guard found == 0 else { return nil }
      // The port is at the same place in addresses of both versions.
      return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Int(UInt16(bigEndian: $0.pointee.sin_port))
      }
    }
  }

  private var port: Int { Self.port(descriptor) { getsockname($0, $1, $2) } ?? 0 }

  /// A connection to a free port of the range for clients may get the same port as its own.
  private var isConnectedToItself: Bool {
    port == Self.port(descriptor) { getpeername($0, $1, $2) }
  }

  /// The next connection. Nil when `end` was called.
  func accepted() -> LoopbackSocket? {
    while true {
      let connection = accept(descriptor, nil, nil)
      if connection >= 0 { return LoopbackSocket(accepted: connection) }
      switch errno {
      case EINTR, ECONNABORTED: continue
      // Connections that end give descriptors back.
      case EMFILE, ENFILE, ENOBUFS, ENOMEM: usleep(20_000)
      default: return nil
      }
    }
  }

  private func sendsAtOnce() {
    var isOn: Int32 = 1
    setsockopt(
      descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
  }

  /// Returns false if nothing happened in time.
  func wait(for event: Int32, _ milliseconds: Int32) -> Bool {
    var polled = pollfd(fd: descriptor, events: Int16(event), revents: 0)
    while true {
      let count = poll(&polled, 1, milliseconds)
      if count >= 0 { return count > 0 }
      if errno != EINTR { return false }
    }
  }

  /// Blocks until there are bytes. Empty at the end of the stream, and after an error.
  func read(into buffer: inout [UInt8]) -> Int {
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count >= 0 || errno != EINTR { return max(0, count) }
    }
  }

  /// Blocks until all bytes are taken. False if the connection has ended, or if nobody took any for
  /// `stalledSeconds`.
  func write(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let count = send(descriptor, part.baseAddress, part.count, Int32(MSG_NOSIGNAL))
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else if errno != EINTR {
          return false
        }
      }
      return true
    }
  }

  func limitWriting(stalledSeconds: Int) {
    var time = timeval(tv_sec: stalledSeconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
  }

  /// Ends both directions, and wakes the threads that wait.
  func end() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }

  func endWriting() { _ = shutdown(descriptor, Int32(SHUT_WR)) }

  /// Only when no thread uses it any more: the system gives the number to the next file.
  func close() { _ = Foundation.close(descriptor) }
}
