#if Server
  import HearthEngine
  import NIOHTTP1

  /// Keeps pages of the web from using a server that has no keys.
  ///
  /// A page of any site can make its reader's browser send requests to loopback, and a name of the
  /// site can lead there. So without keys, the page's origin is this machine, and on loopback the
  /// request is for a name of loopback. With keys, a request needs one, which pages do not know.
  ///
  /// A page's images, links and forms send no `Origin` with GET. Then `Sec-Fetch-Site` says where the
  /// request comes from; pages cannot set it, and other programs send none.
  ///
  ///     none           the reader has typed the address        answered
  ///     same-origin    an answer of this server                 answered
  ///     same-site      a page of this machine, on another port  answered, if the host is loopback
  ///     cross-site     a page of another site                   refused, unless its Origin is this machine
  struct BrowserGuard: Sendable {
    let hasKeys: Bool
    let isLoopback: Bool

    /// Answers to a browser that asks what it may send.
    static let preflight = [
      "access-control-allow-methods": "GET, POST, PATCH, DELETE",
      "access-control-allow-headers": "authorization, content-type, x-request-id",
      "access-control-max-age": "600",
    ]

    /// Returns the headers that let the browser's page read the answer.
    func check(_ headers: HTTPHeaders) throws(Status) -> [String: String] {
      if hasKeys { return [:] }
      if isLoopback, let host = headers.first(name: "host"), !Self.isLoopback(authority: host) {
        throw Status(
          .permissionDenied, "Without keys, the server answers requests for loopback only.")
      }
      guard let origin = headers.first(name: "origin") else {
        if isOfOtherSite(headers) { throw Self.refused }
        return [:]
      }
      guard let scheme = origin.firstRange(of: "://"),
        Self.isLoopback(authority: String(origin[scheme.upperBound...]))
      else { throw Self.refused }
      return ["access-control-allow-origin": origin, "vary": "origin"]
    }

    private static let refused = Status(
      .permissionDenied, "Without keys, the server answers no page of another machine.")

    /// Whether a browser says that a page of another machine has caused a request without `Origin`.
    private func isOfOtherSite(_ headers: HTTPHeaders) -> Bool {
      headers["sec-fetch-site"].contains { site in
        switch site.lowercased() {
        case "none", "same-origin": false
        case "same-site":
          !(headers.first(name: "host").map { Self.isLoopback(authority: $0) } ?? false)
        default: true
        }
      }
    }

    /// Whether `host`, `host:port` or `[host]:port` is this machine.
    static func isLoopback(authority: String) -> Bool {
      let host =
        authority.hasPrefix("[")
        ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
      return ["localhost", "127.0.0.1", "::1"].contains(host.lowercased())
    }
  }
#endif
