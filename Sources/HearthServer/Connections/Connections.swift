#if Server
  import HearthEngine
  import NIOCore

  /// The open connections of a server: how many there may be, what they may cost, and which clients
  /// have gone.
  final class Connections: Sendable {
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
    /// Open streams of HTTP/2.
    let streams: BoundedCount
    /// Bytes of requests in memory.
    let requestBytes: BoundedCount
    private let limits: FirestoreServer.Limits
    private let opened = Guarded(Open())
    /// Those of connections over HTTP/2, by their peers.
    private let clients = Guarded<[String: Client]>([:])
    private let metrics: ServerMetrics
    private let onEnd: @Sendable (_ peer: String) -> Void

    /// - Parameter onEnd: Called when a connection over HTTP/2 has ended.
    init(
      _ limits: FirestoreServer.Limits, _ metrics: ServerMetrics,
      onEnd: @escaping @Sendable (_ peer: String) -> Void
    ) {
      self.limits = limits
      streams = BoundedCount(limit: limits.openStreams)
      requestBytes = BoundedCount(limit: max(limits.requestBytes, limits.messageBytes))
      requestTime = TimeAmount(limits.requestTime)
      writeTime = TimeAmount(limits.writeTime)
      idleTime = TimeAmount(limits.idleTime)
      // Parts of results, and answers of unary calls. Streams that are not read end before.
      answers = AnswerBudget(
        limit: limits.answerBytes / 4, patience: .nanoseconds(2 * writeTime.nanoseconds))
      self.metrics = metrics
      self.onEnd = onEnd
    }

    /// Counts a connection until it is closed. False if there are as many as may be, of all clients
    /// or of this one.
    func add(_ channel: any Channel) -> Bool {
      let network = PeerNetwork(channel.remoteAddress)
      let isAdded = opened.withLock { opened in
        let ofNetwork = network.flatMap { opened.ofNetworks[$0] } ?? 0
        guard opened.count < limits.connections, ofNetwork < limits.connectionsPerAddress else {
          return false
        }
        opened.count += 1
        if let network { opened.ofNetworks[network] = ofNetwork + 1 }
        metrics.connections.set(opened.count)
        return true
      }
      guard isAdded else {
        metrics.refused.increment()
        return false
      }
      channel.closeFuture.whenComplete { [self] _ in
        opened.withLock { opened in
          opened.count -= 1
          if let network, let ofNetwork = opened.ofNetworks[network] {
            opened.ofNetworks[network] = ofNetwork > 1 ? ofNetwork - 1 : nil
          }
          metrics.connections.set(opened.count)
        }
      }
      return true
    }

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
