#if Server
  import HearthEngine
  import NIOCore

  /// The open connections of a server: how many there may be, what they may cost, and which clients
  /// have gone.
  final class Connections: Sendable {
    /// Bytes of requests that may be in memory at a time: bodies over REST, messages over gRPC.
    static let bodyBytes = 256 << 20

    /// Time for a request's body over REST, and for a message over gRPC.
    let requestTime: TimeAmount
    /// Time in which a client reads a part of an answer: `StreamGuard.partBytes`.
    let writeTime: TimeAmount
    /// How long a connection over HTTP/2 may have no stream.
    let idleTime: TimeAmount

    private struct Open {
      var count = 0
      var ofNetworks: [PeerNetwork: Int] = [:]
    }

    /// The executor and the answers that the calls of one client share.
    struct Client: Sendable {
      /// Nil for an event loop on which no server runs.
      let executor: EventLoopExecutor?
      let answers: AnswerBudget.Connection
    }

    let answers: AnswerBudget
    private let limit: Int
    private let networkLimit: Int
    private let streamLimit: Int
    private let bodyLimit: Int
    private let opened = Guarded(Open())
    private let streams = Guarded(0)
    private let bodies = Guarded(0)
    /// Those of connections over HTTP/2, by their peers.
    private let clients = Guarded<[String: Client]>([:])
    private let metrics: ServerMetrics
    private let onEnd: @Sendable (_ peer: String) -> Void

    /// - Parameters:
    ///   - limit: Connections that may be open.
    ///   - networkLimit: Those of one host.
    ///   - streams: Streams of HTTP/2 that may be open, of all connections.
    ///   - bodyBytes: Bytes of requests that may be in memory at a time.
    ///   - answerBytes: Bytes of answers that may be in memory at a time, beside what each connection may have.
    ///   - onEnd: Called when a connection over HTTP/2 has ended.
    init(
      limit: Int, networkLimit: Int = .max, streams: Int = .max,
      bodyBytes: Int = Connections.bodyBytes, answerBytes: Int = .max,
      requestTime: TimeAmount = .seconds(120), writeTime: TimeAmount = .seconds(60),
      idleTime: TimeAmount = .seconds(600),
      _ metrics: ServerMetrics,
      onEnd: @escaping @Sendable (_ peer: String) -> Void
    ) {
      self.limit = limit
      self.networkLimit = networkLimit
      streamLimit = streams
      bodyLimit = bodyBytes
      // Streams that are not read end before.
      answers = AnswerBudget(
        limit: answerBytes, patience: .nanoseconds(2 * writeTime.nanoseconds))
      self.requestTime = requestTime
      self.writeTime = writeTime
      self.idleTime = idleTime
      self.metrics = metrics
      self.onEnd = onEnd
    }

    /// The number of open connections.
    var open: Int { opened.withLock { $0.count } }

    /// Counts a connection until it is closed. False if there are as many as may be, of all clients
    /// or of this one.
    func add(_ channel: any Channel) -> Bool {
      let network = PeerNetwork(channel.remoteAddress)
      let isAdded = opened.withLock { opened in
        let ofNetwork = network.flatMap { opened.ofNetworks[$0] } ?? 0
        guard opened.count < limit, ofNetwork < networkLimit else { return false }
        opened.count += 1
        if let network { opened.ofNetworks[network] = ofNetwork + 1 }
        metrics.set(connections: opened.count)
        return true
      }
      guard isAdded else {
        metrics.connectionWasRefused()
        return false
      }
      channel.closeFuture.whenComplete { [self] _ in
        opened.withLock { opened in
          opened.count -= 1
          if let network, let ofNetwork = opened.ofNetworks[network] {
            opened.ofNetworks[network] = ofNetwork > 1 ? ofNetwork - 1 : nil
          }
          metrics.set(connections: opened.count)
        }
      }
      return true
    }

    /// The number of open streams.
    var openStreams: Int { streams.withLock { $0 } }

    /// Counts a stream of HTTP/2, until `removeStream`. False if there are as many as may be.
    func addStream() -> Bool {
      streams.withLock { streams in
        guard streams < streamLimit else { return false }
        streams += 1
        return true
      }
    }

    func removeStream() { streams.withLock { $0 -= 1 } }

    /// The bytes of requests that are counted.
    var requestBytes: Int { bodies.withLock { $0 } }

    /// Counts bytes of a request, until `free` is called with them. False if there are too many.
    func reserve(_ bytes: Int) -> Bool {
      bodies.withLock { bodies in
        guard bytes <= bodyLimit - bodies else { return false }
        bodies += bytes
        return true
      }
    }

    func free(_ bytes: Int) { bodies.withLock { $0 -= bytes } }

    /// Notes that a connection speaks HTTP/2: its end is the end of what its client has begun.
    /// Requests of one client over HTTP/1 often have a connection each.
    func isHTTP2(_ channel: any Channel, _ answers: AnswerBudget.Connection) {
      let peer = Self.peer(of: channel)
      let client = Client(executor: .of(channel.eventLoop), answers: answers)
      clients.withLock { $0[peer] = client }
      channel.closeFuture.whenComplete { [self] _ in
        let isLast = clients.withLock { clients in
          // The address may be that of a later connection already.
          guard clients[peer]?.answers === answers else { return false }
          clients[peer] = nil
          return true
        }
        if isLast { onEnd(peer) }
      }
    }

    /// A client over HTTP/2, whose calls run on its connection's event loop. Nil if the connection has
    /// ended.
    func client(of peer: String) -> Client? { clients.withLock { $0[peer] } }

    /// The client's address, in the form of `ServerContext.remotePeer`.
    static func peer(of channel: any Channel) -> String { text(channel.remoteAddress) }

    /// The server's address, in the form of `ServerContext.localPeer`.
    static func localPeer(of channel: any Channel) -> String { text(channel.localAddress) }

    private static func text(_ address: SocketAddress?) -> String {
      switch address {
      case .v4(let host)?: "ipv4:\(host.host):\(address?.port ?? 0)"
      case .v6(let host)?: "ipv6:[\(host.host)]:\(address?.port ?? 0)"
      default: "<unknown>"
      }
    }
  }
#endif
