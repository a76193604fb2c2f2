import Testing

@testable import HearthCEL

@Suite struct CELPathTests {
  @Test(arguments: [
    ("1 + 2", []),
    (
      "request.variables.genre == mutation.variables.genre && auth.uid != nil",
      ["request.variables.genre", "mutation.variables.genre", "auth.uid"]
    ),
    ("a.b + a.b + a.c", ["a.b", "a.c"]), ("a", ["a"]), ("a == a.b", ["a", "a.b"]),
    ("has(vars.status) && vars.status in ['draft']", ["vars.status"]), ("has(f(x).y)", ["x"]),
    ("auth.token['role'].x", ["auth.token.role.x"]), ("a[0].b", ["a"]), ("a[b.c].d", ["a", "b.c"]),
    ("auth.token.email.endsWith(vars.domain)", ["auth.token.email", "vars.domain"]),
    ("size(vars)", ["vars"]), ("[a.b, {c.d: e.f}]", ["a.b", "c.d", "e.f"]),
    ("a ? b : c", ["a", "b", "c"]), ("!a.b && -c.d > 0", ["a.b", "c.d"]),
    ("this.exists(p, p.role == vars.role)", ["this", "vars.role"]),
    ("vars.l.map(x, x.a > 0, x.b + y.c)", ["vars.l", "y.c"]),
    ("x.all(x, x.y) && x.z", ["x", "x.z"]), ("[1].all(a, [2].all(b, a + b + c.d > 0))", ["c.d"]),
    ("type(a.b) == int", ["a.b"]), ("int.a", ["int.a"]), ("1 / 0 == 1 || a.b", ["a.b"]),
    ("(a).b", ["a.b"]), ("(a + b).c", ["a", "b"]), ("{'a': 1}.b", []),
  ])
  func `paths are the names that an expression reads`(text: String, paths: [String]) throws {
    #expect(try parse(text).paths.map(\.description) == paths)
  }

  @Test func `a path has components`() throws {
    let path = try #require(parse("auth.token['https://a.b/c']").paths.first)
    #expect(path == CELPath("auth", ["token", "https://a.b/c"]))
    #expect(path.root == "auth")
    #expect(path.components.count == 3)
  }
}
