#if Server
  import Foundation
  import HearthEngine
  import JWTKit

  /// Checks the tokens that the clients of service accounts sign: JSON Web Tokens, by RS256.
  ///
  ///     header.payload.signature ─▶ known, and not over ─▶ accepted
  ///                               └▶ the account of its key ─▶ signature ─▶ claims ─▶ accepted, known
  ///
  /// The claims are those of Google's libraries: the account is issuer and subject, the audience is
  /// Firestore, or there is none and a scope includes it, and a token is valid for an hour at most.
  final class AccountTokens: Sendable {
    static let audience = "https://firestore.googleapis.com/"
    static let scopes: Set<String> = [
      "https://www.googleapis.com/auth/datastore", "https://www.googleapis.com/auth/cloud-platform",
    ]
    /// Clocks of two machines differ by so many seconds at most.
    static let skew = 60.0
    static let longestSeconds = 3600.0
    static let longestBytes = 4096

    private let accounts: [String: FirestoreServer.ServiceAccount]
    private let knownCount: Int
    private let now: @Sendable () -> Date
    /// When they end. A signature takes some 30 µs to check.
    private let known = Guarded<[String: Date]>([:])

    /// - Parameter knownCount: How many tokens are known at a time.
    init(
      _ accounts: [FirestoreServer.ServiceAccount], knownCount: Int = 1024,
      now: @escaping @Sendable () -> Date = { Date() }
    ) {
      self.accounts = Dictionary(accounts.map { ($0.keyID, $0) }) { first, _ in first }
      self.knownCount = knownCount
      self.now = now
    }

    var isEmpty: Bool { accounts.isEmpty }

    /// Throws `unauthenticated` for a token that no account has signed, or that is not valid now.
    func check(_ token: String) async throws(Status) {
      let now = now()
      let end = known.withLock { $0[token] }
      if let end, now < end { return }
      let claims = try await claims(of: token)
      try claims.check(at: now)
      known.withLock { known in
        if known.count >= knownCount { known.removeAll() }
        known[token] = claims.end
      }
    }

    private func claims(of token: String) async throws(Status) -> AccountClaims {
      guard token.utf8.count <= Self.longestBytes, let header = TokenHeader(of: token) else {
        throw .refused("The token is not one of a service account.")
      }
      guard header.alg == "RS256", let account = header.kid.flatMap({ accounts[$0] }) else {
        throw .refused("The token is signed with a key that the server does not know.")
      }
      do {
        let keys = JWTKeyCollection()
        await keys.add(
          rsa: try Insecure.RSA.PublicKey(pem: account.publicKey), digestAlgorithm: .sha256)
        let claims = try await keys.verify(token, as: AccountClaims.self)
        guard claims.iss.value == account.email, claims.sub.value == account.email else {
          throw Status.refused("The token is of another account than its key.")
        }
        return claims
      } catch {
        throw error as? Status ?? .refused("The token's signature is not valid.")
      }
    }
  }

  /// The part of a token that names the key by which it is signed.
  ///
  /// It is not read by JWTKit, whose parser traps on a number that is not an `Int`: anybody can send
  /// one.
  private struct TokenHeader: Decodable {
    var alg: String?
    var kid: String?

    /// Nil for a text that is not a token.
    init?(of token: String) {
      let parts = token.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      guard parts.count == 3,
        let json = DocumentJSON.bytes(ofBase64: String(Substring(parts[0]))),
        let header = try? JSONDecoder().decode(Self.self, from: Data(json))
      else { return nil }
      self = header
    }
  }

  /// The claims of a token. They are read after its signature was found to be an account's.
  private struct AccountClaims: JWTPayload {
    var iss: IssuerClaim
    var sub: SubjectClaim
    var iat: IssuedAtClaim
    var exp: ExpirationClaim
    var nbf: NotBeforeClaim?
    var aud: Audiences?
    var scope: String?

    /// A text, or an array of them. JWTKit's own claim traps on an empty array.
    struct Audiences: Codable, Equatable {
      var value: [String]

      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let one = try? container.decode(String.self) {
          value = [one]
        } else {
          value = try container.decode([String].self)
        }
      }

      func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    /// When it is refused.
    var end: Date { exp.value + AccountTokens.skew }

    func verify(using algorithm: some JWTAlgorithm) {}

    func check(at now: Date) throws(Status) {
      // With scopes, Google's libraries name no audience, or an empty one. A token for another audience
      // is for another service, whatever its scopes.
      let audiences = (aud?.value ?? []).filter { !$0.isEmpty }
      let isForFirestore =
        audiences.isEmpty
        ? !AccountTokens.scopes.isDisjoint(
          with: (scope ?? "").split(separator: " ").map(String.init))
        : audiences.contains(AccountTokens.audience)
      guard isForFirestore else {
        throw .refused(
          "The token is not for \(AccountTokens.audience), and has no scope that includes it.")
      }
      guard now < end else { throw .refused("The token's time is over.") }
      guard iat.value <= now + AccountTokens.skew,
        exp.value.timeIntervalSince(iat.value) <= AccountTokens.longestSeconds
      else {
        throw .refused("The token is valid for more than an hour, or from a time in the future.")
      }
      if let nbf, nbf.value > now + AccountTokens.skew {
        throw .refused("The token is valid from a time in the future.")
      }
    }
  }

  extension Status {
    fileprivate static func refused(_ message: String) -> Status {
      Status(.unauthenticated, message)
    }
  }
#endif
