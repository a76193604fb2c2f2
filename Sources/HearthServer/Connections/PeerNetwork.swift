#if Server
  import NIOCore

  /// The host that a connection comes from, as far as its address shows: an address of IPv4, or a
  /// network of IPv6 (/64), whose addresses one host can have all.
  struct PeerNetwork: Hashable {
    private let isIPv4: Bool
    private let bits: UInt64

    /// Nil for an address of another kind, and for a connection that has ended.
    init?(_ address: SocketAddress?) {
      switch address {
      case .v4(let host)?:
        isIPv4 = true
        bits = withUnsafeBytes(of: host.address.sin_addr) {
          UInt64(UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)))
        }
      case .v6(let host)?:
        let (network, rest) = withUnsafeBytes(of: host.address.sin6_addr) {
          (
            UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
            UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
          )
        }
        // ::ffff:192.0.2.1: an address of IPv4 that has connected to a socket for both.
        isIPv4 = network == 0 && rest >> 32 == 0xFFFF
        bits = isIPv4 ? rest & 0xFFFF_FFFF : network
      default: return nil
      }
    }
  }
#endif
