#if Server
  import HearthEngine

  /// Decides which callers may use the server, by the header `authorization`.
  ///
  ///     keys, Bearer key or an account's token ─▶ everything
  ///     keys, anything else   ─▶ unauthenticated
  ///     none, no token or Bearer owner ─▶ everything: such a server is on loopback
  ///     none, another token   ─▶ unauthenticated, unless it is an emulator
  final class ServiceKeys: Sendable {
    /// Bytes of a key, at least.
    static let shortest = 16

    /// The keys and accounts of a time.
    private struct Access {
      var keys: [[UInt8]]
      var accounts: AccountTokens

      init(_ keys: [String], _ accounts: AccountTokens) {
        self.keys = keys.map { Array($0.utf8) }
        self.accounts = accounts
      }

      var isEmpty: Bool { keys.isEmpty && accounts.isEmpty }
    }

    /// The current keys and accounts. `replace` keeps an empty set empty, and another one not empty.
    private let access: Guarded<Access>
    private let isOpen: Bool
    private let acceptsEveryToken: Bool

    init(
      _ keys: [String], accounts: AccountTokens = AccountTokens([]), isEmulator: Bool
    ) {
      let access = Access(keys, accounts)
      self.access = Guarded(access)
      isOpen = access.isEmpty
      acceptsEveryToken = isEmulator && isOpen
    }

    /// Throws `invalidArgument` for a key that could be guessed.
    static func check(_ keys: [String]) throws(Status) {
      guard keys.allSatisfy({ $0.utf8.count >= shortest }) else {
        throw .invalidArgument(
          "A service key has at least \(shortest) bytes. Make one with: openssl rand -hex 32")
      }
    }

    /// Replaces all keys and accounts, for calls that begin later. Throws `invalidArgument` if the
    /// server would be open to everybody, or was made so.
    func replace(_ keys: [String], _ accounts: AccountTokens) throws(Status) {
      try Self.check(keys)
      let new = Access(keys, accounts)
      guard !isOpen else {
        throw .invalidArgument(
          "A server that was created without keys gets none later. Create it with a key.")
      }
      guard !new.isEmpty else {
        throw .invalidArgument(
          "A server that was created with keys keeps one key or account at least.")
      }
      access.withLock { $0 = new }
    }

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
      let (keys, accounts) = access.withLock { ($0.keys, $0.accounts) }
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
