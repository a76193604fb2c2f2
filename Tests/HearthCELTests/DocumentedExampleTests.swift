import Testing

@testable import HearthCEL

/// The expressions that Data Connect's documentation uses.
@Suite struct DocumentedExampleTests {
  static func environment(
    auth: CELValue = .null, vars: CELValue = [:], this: CELValue = .null
  ) -> CELEnvironment {
    CELEnvironment(
      variables: [
        "auth": auth, "vars": vars, "this": this,
        "request": ["auth": auth, "variables": vars, "operationName": "query"],
      ],
      nullMembers: ["auth", "request.auth", "mutation.auth"])
  }

  static func holds(_ text: String, _ environment: CELEnvironment) throws -> Bool {
    try parse(text).evaluateCondition(in: environment)
  }

  @Test func `has and in guard an optional variable`() throws {
    let text = "has(vars.status) && vars.status in ['draft','published']"
    #expect(try Self.holds(text, Self.environment(vars: ["status": "draft"])))
    #expect(try !Self.holds(text, Self.environment(vars: ["status": "deleted"])))
    #expect(try !Self.holds(text, Self.environment()))
    #expect(try !Self.holds(text, Self.environment(vars: ["status": .unset])))
  }

  @Test func `a verified address of a company is accepted`() throws {
    let text = "auth.token.email_verified && auth.token.email.endsWith('@company.com')"
    func auth(_ isVerified: Bool, _ email: CELValue) -> CELEnvironment {
      Self.environment(
        auth: ["uid": "a", "token": ["email_verified": .bool(isVerified), "email": email]])
    }
    #expect(try Self.holds(text, auth(true, "x@company.com")))
    #expect(try !Self.holds(text, auth(false, "x@company.com")))
    #expect(try !Self.holds(text, auth(true, "x@company.com.example")))
  }

  @Test func `a condition on a claim is an error without a user`() throws {
    let error = try failure(
      "auth.token.email_verified && auth.token.email.endsWith('@company.com')", Self.environment())
    #expect(error?.kind == .nullOperand)
  }

  static let checks: [(String, CELValue, Bool)] = [
    ("this != null", "x", true), ("this != null", .null, false),
    ("this != null", .unset, false), ("this == 'editor'", "editor", true),
    ("this == 'editor'", "viewer", false), ("this == 'editor'", 1, false),
    ("this in ['AUTHOR','EDITOR']", "EDITOR", true),
    ("this in ['AUTHOR','EDITOR']", "READER", false),
    ("this.exists(p, p.role == 'admin')", [["role": "user"], ["role": "admin"]], true),
    ("this.exists(p, p.role == 'admin')", [["role": "user"]], false),
    ("this.exists(p, p.role == 'admin')", [], false),
    ("this.size() > 0", ["x"], true), ("this.size() > 0", [], false),
    ("!(this in [null, []])", .null, false), ("!(this in [null, []])", [], false),
    ("!(this in [null, []])", [[]], true), ("!(this in [null, []])", ["x": 1], true),
  ]

  @Test(arguments: checks)
  func `a check sees the value of its field`(
    text: String, this: CELValue, expected: Bool
  ) throws {
    #expect(try Self.holds(text, Self.environment(this: this)) == expected)
  }

  @Test func `an expression computes a value`() throws {
    #expect(try evaluate("2 * 4") == 8)
    #expect(try evaluate("vars.foo.size()", Self.environment(vars: ["foo": "día"])) == 3)
    #expect(try evaluate("auth.uid", Self.environment(auth: ["uid": "alice"])) == "alice")
    let response = CELEnvironment(variables: ["response": ["todoList_insert": ["id": "7"]]])
    #expect(try evaluate("response.todoList_insert.id", response) == "7")
  }

  @Test func `uuidV4 is what the environment makes`() throws {
    var environment = CELEnvironment()
    environment.makeUUID = { "u" }
    #expect(try evaluate("uuidV4()", environment) == "u")
  }

  @Test func `a UUID is random and of version 4`() throws {
    var seen: Set<String> = []
    for _ in 0..<100 {
      guard case .string(let text) = try evaluate("uuidV4()") else {
        Issue.record("not a string")
        return
      }
      seen.insert(text)
      let groups = text.split(separator: "-", omittingEmptySubsequences: false)
      #expect(groups.map(\.count) == [8, 4, 4, 4, 12])
      #expect(groups[2].first == "4")
      #expect(groups[3].first.map { "89ab".contains($0) } == true)
      #expect(text.allSatisfy { "0123456789abcdef-".contains($0) })
    }
    #expect(seen.count == 100)
  }

  // MARK: The levels of @auth

  @Test func `levels of auth are equivalent to their expressions`() throws {
    let anonymous: CELValue = [
      "uid": "a", "token": ["firebase": ["sign_in_provider": "anonymous"]],
    ]
    let user: CELValue = [
      "uid": "b",
      "token": ["firebase": ["sign_in_provider": "password"], "email_verified": false],
    ]
    let verified: CELValue = [
      "uid": "c", "token": ["firebase": ["sign_in_provider": "password"], "email_verified": true],
    ]
    let levels = [
      "true", "auth.uid != nil",
      "auth.uid != nil && auth.token.firebase.sign_in_provider != 'anonymous'",
      "auth.uid != nil && auth.token.email_verified", "false",
    ]
    func granted(_ auth: CELValue) -> [Bool] {
      // An error denies.
      levels.map { (try? Self.holds($0, Self.environment(auth: auth))) ?? false }
    }
    #expect(granted(.null) == [true, false, false, false, false])
    #expect(granted(anonymous) == [true, true, false, false, false])
    #expect(granted(user) == [true, true, true, false, false])
    #expect(granted(verified) == [true, true, true, true, false])
  }

  // MARK: Null auth

  @Test(arguments: ["auth", "request.auth"])
  func `members of a null auth are null`(root: String) throws {
    let environment = Self.environment()
    #expect(try evaluate("\(root).uid", environment) == .null)
    #expect(try evaluate("\(root)['uid']", environment) == .null)
    #expect(try evaluate("\(root).token", environment) == .null)
    #expect(try evaluate("has(\(root).uid)", environment) == false)
    #expect(try evaluate("\(root) == null", environment) == true)
    #expect(try evaluate("\(root).uid == nil", environment) == true)
  }

  @Test func `members of members of a null auth are errors`() throws {
    #expect(try failure("auth.token.email", Self.environment())?.kind == .nullOperand)
    #expect(
      try failure("auth.token.email != 'x'", Self.environment())?.kind == .nullOperand)
  }

  @Test func `members of another null are errors`() throws {
    #expect(try failure("this.uid", Self.environment())?.kind == .nullOperand)
    #expect(try failure("has(this.uid)", Self.environment())?.kind == .nullOperand)
    // A variable of a macro is not the root name.
    #expect(try failure("[null].map(auth, auth.uid)", Self.environment())?.kind == .nullOperand)
  }

  // MARK: @refresh

  static func refresh(
    request: CELValue, mutation: CELValue, user: CELValue = .null, writer: CELValue = .null
  ) -> CELEnvironment {
    CELEnvironment(
      variables: [
        "request": ["variables": request, "auth": user],
        "mutation": ["variables": mutation, "auth": writer],
      ], nullMembers: ["request.auth", "mutation.auth"])
  }

  @Test func `a refresh is triggered by the same id`() throws {
    let text = "request.variables.id == mutation.variables.id"
    #expect(try Self.holds(text, Self.refresh(request: ["id": "1"], mutation: ["id": "1"])))
    #expect(try !Self.holds(text, Self.refresh(request: ["id": "1"], mutation: ["id": "2"])))
    #expect(
      try failure(text, Self.refresh(request: ["id": "1"], mutation: [:]))?.kind == .missingKey)
  }

  @Test func `a refresh is triggered by the same user`() throws {
    let text = "request.auth.uid == mutation.auth.uid"
    func environment(_ user: CELValue, _ writer: CELValue) -> CELEnvironment {
      Self.refresh(request: [:], mutation: [:], user: user, writer: writer)
    }
    #expect(try Self.holds(text, environment(["uid": "a"], ["uid": "a"])))
    #expect(try !Self.holds(text, environment(["uid": "a"], ["uid": "b"])))
    #expect(try !Self.holds(text, environment(.null, ["uid": "b"])))
    #expect(try Self.holds(text, environment(.null, .null)))
  }

  @Test func `a refresh is triggered by a status and a genre`() throws {
    let text = """
      request.variables.genre == mutation.variables.genre
        && mutation.variables.status == 'PUBLISHED'
      """
    func environment(_ genre: CELValue, _ status: CELValue) -> CELEnvironment {
      Self.refresh(request: ["genre": "drama"], mutation: ["genre": genre, "status": status])
    }
    #expect(try Self.holds(text, environment("drama", "PUBLISHED")))
    #expect(try !Self.holds(text, environment("drama", "DRAFT")))
    #expect(try !Self.holds(text, environment("comedy", "PUBLISHED")))
    #expect(try !Self.holds(text, environment(.unset, "PUBLISHED")))
  }

  @Test func `a refresh is triggered by a flag`() throws {
    let text = "mutation.variables.isPublic == true"
    #expect(try Self.holds(text, Self.refresh(request: [:], mutation: ["isPublic": true])))
    #expect(try !Self.holds(text, Self.refresh(request: [:], mutation: ["isPublic": false])))
    #expect(try !Self.holds(text, Self.refresh(request: [:], mutation: ["isPublic": .unset])))
  }

  @Test func `claims of both users can be compared`() throws {
    let text = "request.auth.token.tenant == mutation.auth.token.tenant"
    let user: CELValue = ["uid": "a", "token": ["tenant": "t"]]
    let environment = Self.refresh(request: [:], mutation: [:], user: user, writer: user)
    #expect(try Self.holds(text, environment))
  }

  // MARK: Unset variables

  @Test func `an unset variable reads null and is absent`() throws {
    let environment = Self.environment(vars: ["a": .unset, "b": .null, "c": 1])
    #expect(try evaluate("vars.a", environment) == .null)
    #expect(try evaluate("vars['a']", environment) == .null)
    #expect(try evaluate("vars.a == null", environment) == true)
    #expect(
      try evaluate("[has(vars.a), has(vars.b), has(vars.c)]", environment)
        == [false, true, true])
    #expect(try evaluate("has(vars.d)", environment) == false)
    #expect(try evaluate("['a' in vars, 'b' in vars]", environment) == [false, true])
    #expect(try evaluate("size(vars)", environment) == 2)
    #expect(try evaluate("vars.map(k, k)", environment) == ["b", "c"])
    #expect(try evaluate("vars == {'b': null, 'c': 1}", environment) == true)
    #expect(try evaluate("{'b': null, 'c': 1} == vars", environment) == true)
    #expect(try evaluate("type(vars.a) == null_type", environment) == true)
    #expect(try failure("vars.a > 1", environment)?.kind == .nullOperand)
    #expect(try failure("vars.d", environment)?.kind == .missingKey)
  }

  @Test func `a result contains nothing unset`() throws {
    let environment = CELEnvironment(variables: ["x": .unset, "l": [1, .unset, ["a": .unset]]])
    #expect(try evaluate("x", environment) == .null)
    #expect(try evaluate("l", environment) == [1, .null, [:]])
    #expect(try evaluate("l[1]", environment) == .null)
    #expect(try evaluate("l.map(e, e == null)", environment) == [false, true, false])
    #expect(try evaluate("l.filter(e, e == null)", environment) == [.null])
    #expect(try evaluate("null in l", environment) == true)
  }
}
