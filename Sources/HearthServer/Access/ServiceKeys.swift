#if Server
  import HearthEngine

  /// Decides which callers may use the server, by the header `authorization`.
  ///
  ///     keys, Bearer key or an account's token ─▶ everything
  ///     keys, anything else   ─▶ unauthenticated
  ///     none, no token or Bearer owner ─▶ everything: such a server is on loopback
  ///     none, another token   ─▶ unauthenticated, unless it is an emulator
  struct ServiceKeys: Sendable {
    /// Bytes of a key, at least.
    static let shortest = 16

    private let keys: [[UInt8]]
    private let accounts: AccountTokens
    private let acceptsEveryToken: Bool

    init(
      _ keys: [String], accounts: AccountTokens = AccountTokens([]), isEmulator: Bool
    ) {
      self.keys = keys.map { Array($0.utf8) }
      self.accounts = accounts
      acceptsEveryToken = isEmulator && keys.isEmpty && accounts.isEmpty
    }

    private var isOpen: Bool { keys.isEmpty && accounts.isEmpty }

    func check(authorization header: String?) async throws(Status) {
      if acceptsEveryToken { return }
      guard let header else {
        if isOpen { return }
        throw Status(.unauthenticated, "The call has no service key.")
      }
      let parts = header.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
      guard parts.count == 2, String(Substring(parts[0])).lowercased() == "bearer" else {
        throw Status(.unauthenticated, "The header authorization is not \"Bearer\" and a key.")
      }
      let token = Array(parts[1])
      if isOpen {
        if token.elementsEqual("owner".utf8) { return }
        throw Status(
          .unauthenticated, "This server has no service keys, and accepts no tokens of users.")
      }
      // All keys are compared, each in full: the time does not show how much of one was right.
      var isFound = false
      for key in keys where Self.areEqual(key, token) { isFound = true }
      if isFound { return }
      guard !accounts.isEmpty else {
        throw Status(.unauthenticated, "The service key is not valid.")
      }
      try await accounts.check(String(Substring(parts[1])))
    }

    /// Takes as long for any two of the same length.
    static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
      guard one.count == other.count else { return false }
      return zip(one, other).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }
  }
#endif
