#if Server
  import HearthEngine
  import NIOHTTP1
  import Testing

  @testable import HearthServer

  /// Paths name calls.
  @Suite struct RESTRouteTests {
    private static let root = "projects/p/databases/(default)/documents"

    @Test(arguments: [
      (HTTPMethod.GET, "/", RESTRoute.ready),
      (.GET, "/health", .health),
      (.POST, "/shutdown", .shutDown),
      (.GET, "/v1/\(root)/books/dune", .get(root + "/books/dune")),
      (.GET, "/v1/projects/p/databases/%28default%29/documents/a/b", .get(root + "/a/b")),
      (.GET, "/v1/\(root)/a/b%20c%3Ad:e", .get(root + "/a/b c:d:e")),
      (.GET, "/v1/\(root)/books", .list(parent: root, collection: "books")),
      (.GET, "/v1/\(root)/a/b/c", .list(parent: root + "/a/b", collection: "c")),
      (.POST, "/v1/\(root)/books", .create(parent: root, collection: "books")),
      (.POST, "/v1/\(root)/books:x", .create(parent: root, collection: "books:x")),
      (.PATCH, "/v1/\(root)/books/dune", .update(root + "/books/dune")),
      (.DELETE, "/v1/\(root)/books/dune", .delete(root + "/books/dune")),
      (.POST, "/v1/\(root):runQuery", .verb(.runQuery, root)),
      (.POST, "/v1/\(root)/a/b:runQuery", .verb(.runQuery, root + "/a/b")),
      (.POST, "/v1/\(root)/a/b%3Ac:runQuery", .verb(.runQuery, root + "/a/b:c")),
      (.POST, "/v1/\(root):commit", .verb(.commit, "projects/p/databases/(default)")),
      (.POST, "/v1/\(root):batchGet", .verb(.batchGet, "projects/p/databases/(default)")),
      (
        .DELETE, "/emulator/v1/\(root)", .clear(database: "projects/p/databases/(default)")
      ),
      (.POST, "/emulator/v1/projects/p:export", .export(project: "p")),
      (.POST, "/emulator/v1/projects/p:import", .load(project: "p")),
      (.GET, "/google.firestore.v1.Firestore/Listen/channel", .webChannel),
      (.POST, "/google.firestore.v1.Firestore/Write/channel", .webChannel),
    ])
    func `a path names a call`(method: HTTPMethod, path: String, route: RESTRoute) throws {
      #expect(try RESTRoute(method, path: path[...]) == route)
    }

    @Test(arguments: [
      (HTTPMethod.GET, ""), (.GET, "*"), (.GET, "v1"), (.GET, "//"), (.POST, "/"),
      (.GET, "/v1"), (.GET, "/v1/"), (.GET, "/v1/\(root)"), (.PUT, "/v1/\(root)/a/b"),
      (.POST, "/v1/\(root)/a/b"), (.PATCH, "/v1/\(root)/a"), (.GET, "/v1/\(root):runQuery"),
      (.POST, "/v1/\(root)/a/b:commit"), (.POST, "/v1/x:commit"), (.GET, "/v2/\(root)/a/b"),
      (.GET, "/v1/\(root)/a%2Fb/c"), (.GET, "/v1/\(root)/a/%"), (.GET, "/v1/\(root)/a/%FF"),
      (.GET, "/emulator"), (.DELETE, "/emulator/v1/projects/p/databases/d/documents/a"),
    ])
    func `other paths name none`(method: HTTPMethod, path: String) throws {
      let status = #expect(throws: HearthEngine.Status.self) {
        try RESTRoute(method, path: path[...])
      }
      #expect(status?.code == .notFound || status?.code == .invalidArgument)
    }
  }
#endif
