#if Server
  import NIOCore

  /// The time that a client gives a call of gRPC, as its header says it: one to eight digits and a
  /// unit.
  ///
  ///     grpc-timeout: 20S        20 seconds
  ///     grpc-timeout: 99999999H  more than a year, which counts as no limit
  ///
  /// `StreamGuard` reads it and removes the header: gRPC's parser traps on a sign, and ignores eight
  /// digits.
  struct CallTimeout: Equatable {
    static let header = "grpc-timeout"

    /// Longer ones would leave the range of the clock.
    private static let longest = TimeAmount.hours(24 * 366)

    /// The timeout of a call without the header.
    static let unlimited = CallTimeout(time: nil)

    /// Nil if the call has no limit.
    let time: TimeAmount?

    private init(time: TimeAmount?) { self.time = time }

    /// Nil for a text that is not a timeout.
    init?(_ text: String) {
      let bytes = text.utf8
      guard (2...9).contains(bytes.count), let last = bytes.last else { return nil }
      let unit: Int64
      switch last {
      case UInt8(ascii: "H"): unit = 3_600_000_000_000
      case UInt8(ascii: "M"): unit = 60_000_000_000
      case UInt8(ascii: "S"): unit = 1_000_000_000
      case UInt8(ascii: "m"): unit = 1_000_000
      case UInt8(ascii: "u"): unit = 1000
      case UInt8(ascii: "n"): unit = 1
      default: return nil
      }
      var amount: Int64 = 0
      for byte in bytes.dropLast() {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        amount = 10 * amount + Int64(byte - UInt8(ascii: "0"))
      }
      let isLong = amount > Self.longest.nanoseconds / unit
      time = isLong ? nil : .nanoseconds(amount * unit)
    }
  }
#endif
