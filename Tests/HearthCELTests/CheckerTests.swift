import Testing

@testable import HearthCEL

@Suite struct CheckerTests {
  static let user: CELType = .object(fields: [
    "uid": .string, "token": .map(key: .string, value: .dyn),
  ])
  static let scope = CELScope(
    variables: [
      "auth": .nullable(user),
      "vars": .object(fields: [
        "genre": .nullable(.string), "status": .string, "count": .int, "rating": .double,
        "tags": .list(of: .string), "since": .timestamp,
        "input": .nullable(
          .object(fields: [
            "name": .string
          ])),
      ]),
      "request": .object(fields: [
        "auth": .nullable(user), "time": .timestamp, "operationName": .string,
        "variables": .object(fields: ["genre": .nullable(.string), "id": .string]),
      ]),
      "this": .dyn, "numbers": .map(key: .int, value: .uint), "flag": .bool,
      "nothing": .null, "maybe": .nullable(.int), "blob": .bytes,
      "roles": .list(of: .object(fields: ["role": .string])),
    ], nullMembers: ["auth", "request.auth"])

  static let types: [(String, CELType)] = [
    ("null", .null), ("true", .bool), ("1", .int), ("1u", .uint), ("1.0", .double),
    ("'a'", .string), ("b'a'", .bytes), ("int", .type), ("google.protobuf.Duration", .type),
    ("vars.count", .int), ("vars['count']", .int), ("vars.genre", .nullable(.string)),
    ("auth", .nullable(user)), ("auth.uid", .nullable(.string)),
    ("auth['uid']", .nullable(.string)), ("request.auth.uid", .nullable(.string)),
    ("auth.token", .nullable(.map(key: .string, value: .dyn))), ("auth.token.email", .dyn),
    ("vars.input.name", .string), ("has(vars.genre)", .bool), ("has(auth.token.email)", .bool),
    ("this.anything.at.all[0]", .dyn), ("this + 1", .int), ("this + this", .dyn),
    ("this - this", .dyn), ("this * 2.0", .double), ("this - duration('1s')", .dyn),
    ("this + [1]", .list(of: .dyn)), ("-this", .dyn), ("!this", .bool), ("this && this", .bool),
    ("numbers[1]", .uint), ("numbers[1.0]", .uint), ("vars.tags[0]", .string),
    ("1 + 2", .int), ("maybe + 1", .int), ("'a' + vars.genre", .string), ("1u - 1u", .uint),
    ("vars.since + duration('1h')", .timestamp), ("vars.since - request.time", .duration),
    ("duration('1s') - duration('1s')", .duration), ("[1] + [2]", .list(of: .int)),
    ("[1] + ['a']", .list(of: .dyn)), ("1 < 2.0", .bool), ("vars.genre == 'drama'", .bool),
    ("vars.status in ['a', 'b']", .bool), ("vars.genre in ['a']", .bool),
    ("1u in [1]", .bool), ("1 in numbers", .bool), ("'genre' in vars", .bool),
    ("nothing == 1", .bool), ("vars.count == null", .bool), ("!(this in [null, []])", .bool),
    ("flag ? 1 : 2", .int), ("flag ? 1 : null", .nullable(.int)), ("flag ? 1 : 'a'", .dyn),
    ("flag ? maybe : 1", .nullable(.int)), ("[]", .list(of: .dyn)), ("[1, 2]", .list(of: .int)),
    ("[1, null]", .list(of: .nullable(.int))), ("[1, 'a']", .list(of: .dyn)),
    ("[[1], [null]]", .list(of: .list(of: .nullable(.int)))),
    ("{'a': 1}", .map(key: .string, value: .int)), ("{}", .map(key: .dyn, value: .dyn)),
    ("{'a': 1}.b", .int), ("{1: 'a', 'b': null}", .map(key: .dyn, value: .nullable(.string))),
    ("vars.tags.all(t, t.size() > 0)", .bool), ("vars.tags.map(t, size(t))", .list(of: .int)),
    ("vars.tags.filter(t, t != '')", .list(of: .string)), ("numbers.map(k, k)", .list(of: .int)),
    ("vars.map(k, k)", .list(of: .string)), ("roles.exists(p, p.role == 'admin')", .bool),
    ("this.exists(p, p.role == 'admin')", .bool), ("[1].map(vars, vars + 1)", .list(of: .int)),
    ("size(vars.genre)", .int), ("vars.tags.size()", .int), ("size(vars)", .int),
    ("size(this)", .int), ("type(1)", .type), ("dyn(1)", .dyn), ("uuidV4()", .string),
    ("int('1')", .int), ("string(maybe)", .string), ("timestamp(0)", .timestamp),
    ("duration('1s')", .duration), ("vars.since.getHours()", .int),
    ("vars.since.getHours('UTC')", .int), ("duration('1s').getHours()", .int),
    ("'a'.matches('b')", .bool), ("matches('a', 'b')", .bool), ("blob == b'a'", .bool),
  ]

  @Test(arguments: types)
  func `an expression has a type`(text: String, type: CELType) throws {
    #expect(try parse(text).check(against: Self.scope) == type)
  }

  @Test(arguments: [
    Mistake("unknown", .undeclared), Mistake("unknown.a", .undeclared),
    Mistake("f(1)", .undeclared), Mistake("1.f()", .undeclared),
    Mistake("[1].all(x, y)", .undeclared), Mistake("[1].map(x, 1) == [x]", .undeclared),
    Mistake("vars.gnre", .unknownMember), Mistake("vars['gnre']", .unknownMember),
    Mistake("has(vars.gnre)", .unknownMember), Mistake("auth.name", .unknownMember),
    Mistake("request.variables.x == 1", .unknownMember),
    Mistake("roles.exists(p, p.rle == 'a')", .unknownMember),
    Mistake("vars.count.a", .typeMismatch), Mistake("nothing.a", .typeMismatch),
    Mistake("numbers.a", .typeMismatch), Mistake("numbers['a']", .typeMismatch),
    Mistake("numbers[null]", .typeMismatch), Mistake("vars.tags['a']", .typeMismatch),
    Mistake("vars.count[0]", .typeMismatch), Mistake("'abc'[0]", .typeMismatch),
    Mistake("1 + 'a'", .typeMismatch), Mistake("1 + 1u", .typeMismatch),
    Mistake("null + 1", .typeMismatch), Mistake("true + true", .typeMismatch),
    Mistake("5.0 % 2.0", .typeMismatch), Mistake("[1] - [1]", .typeMismatch),
    Mistake("this % 1.0", .typeMismatch), Mistake("-'a'", .typeMismatch),
    Mistake("-(1u)", .typeMismatch), Mistake("!1", .typeMismatch),
    Mistake("vars.count == 'a'", .typeMismatch), Mistake("vars.genre == 1", .typeMismatch),
    Mistake("[1] == ['a']", .typeMismatch), Mistake("numbers == 1", .typeMismatch),
    Mistake("vars.count in ['a']", .typeMismatch), Mistake("1 in 1", .typeMismatch),
    Mistake("'a' in 'abc'", .typeMismatch), Mistake("'a' in numbers", .typeMismatch),
    Mistake("1 in vars", .typeMismatch), Mistake("1 < 'a'", .typeMismatch),
    Mistake("[1] < [2]", .typeMismatch), Mistake("null < 1", .typeMismatch),
    Mistake("this < [1]", .typeMismatch), Mistake("true && 1", .typeMismatch),
    Mistake("'a' || true", .typeMismatch), Mistake("1 ? 2 : 3", .typeMismatch),
    Mistake("vars.count.all(x, true)", .typeMismatch), Mistake("[1].all(x, x)", .typeMismatch),
    Mistake("[1].filter(x, x)", .typeMismatch), Mistake("[1].map(x, x, x)", .typeMismatch),
    Mistake("{1.5: 1}", .typeMismatch), Mistake("{null: 1}", .typeMismatch),
    Mistake("size(1)", .typeMismatch), Mistake("size()", .typeMismatch),
    Mistake("1.startsWith('a')", .typeMismatch), Mistake("'a'.startsWith(1)", .typeMismatch),
    Mistake("int(true)", .typeMismatch), Mistake("string([])", .typeMismatch),
    Mistake("startsWith('a', 'b')", .undeclared), Mistake("'1'.int()", .undeclared),
    Mistake("vars.since + vars.since", .typeMismatch),
    Mistake("duration('1s').getFullYear()", .typeMismatch), Mistake("uuidV4(1)", .typeMismatch),
  ])
  func `the check finds a mistake`(_ mistake: Mistake) throws {
    #expect(try checkFailure(mistake.text, Self.scope)?.kind == mistake.kind)
  }

  @Test(arguments: [
    (
      "true && vars.gnre == 'a'",
      "1:14: \"vars\" has no member \"gnre\". Did you mean \"genre\"?"
    ),
    (
      "request.variables.Id == 'a'",
      "1:19: \"request.variables\" has no member \"Id\". Did you mean \"id\"?"
    ),
    ("request.variables.xyzzy", "1:19: \"request.variables\" has no member \"xyzzy\"."),
    ("vasr.genre", "1:1: The variable \"vasr\" is not declared. Did you mean \"vars\"?"),
    ("vars\n  .count == 'a'", "2:10: Values of types int and string are never equal."),
    (
      "vars.status.endWith('a')",
      "1:13: The function \"endWith\" is not known. Did you mean \"endsWith\"?"
    ),
    ("'1'.int()", "1:5: The function \"int\" is called as int(x)."),
    ("vars.count.x", "1:12: \"vars.count\" is of type int, which has no member \"x\"."),
    ("vars.count + 'a'", "1:12: The operator + does not accept int and string."),
    ("!vars.count", "1:7: The operand of ! must be of type bool, but is of type int."),
  ])
  func `a mistake has a position and a suggestion`(text: String, description: String) throws {
    #expect(try checkFailure(text, Self.scope)?.description == description)
  }

  @Test(
    arguments: DocumentedExampleTests.checks.map(\.0) + [
      "has(vars.status) && vars.status in ['draft','published']",
      "auth.token.email_verified && auth.token.email.endsWith('@company.com')",
      "auth.uid != nil && auth.token.firebase.sign_in_provider != 'anonymous'",
      "request.variables.genre == vars.genre", "vars.tags.size() == 2 * 4",
    ])
  func `documented examples are accepted`(text: String) throws {
    #expect(try parse(text).check(against: Self.scope) == .bool)
  }

  @Test func `a chain of indexes is checked in linear time`() throws {
    let text = "this" + String(repeating: "['a']", count: 99)
    #expect(try parse(text).check(against: Self.scope) == .dyn)
  }
}

@Suite struct CELTypeTests {
  static let values: [(CELType, CELValue, Bool)] = [
    (.dyn, .unset, true), (.null, .null, true), (.null, .unset, true), (.null, 0, false),
    (.int, 1, true), (.int, .uint(1), false), (.int, .null, false), (.nullable(.int), .null, true),
    (.nullable(.int), .unset, true), (.nullable(.int), 1, true), (.nullable(.int), "a", false),
    (.list(of: .int), [1, 2], true), (.list(of: .int), [1, "a"], false),
    (.list(of: .int), [:], false), (.map(key: .string, value: .int), ["a": 1], true),
    (.map(key: .string, value: .int), [1: 1], false),
    (.map(key: .string, value: .int), ["a": "b"], false),
    (.object(fields: ["a": .int]), ["a": 1], true),
    (.object(fields: ["a": .int]), ["a": 1, "b": 2], true),
    (.object(fields: ["a": .int]), [:], false),
    (.object(fields: ["a": .nullable(.int)]), ["a": .unset], true),
    (.object(fields: ["a": .nullable(.int)]), [:], true), (.type, .type("int"), true),
    (.timestamp, .timestamp(seconds: 0, nanoseconds: 0), true), (.bytes, "a", false),
  ]

  @Test(arguments: values)
  func `a type contains its values`(type: CELType, value: CELValue, isContained: Bool) {
    #expect(type.contains(value) == isContained)
  }

  static let types: [(CELType, CELType, Bool, Bool)] = [
    (.int, .int, true, true), (.int, .uint, false, false), (.int, .dyn, true, true),
    (.dyn, .int, true, true), (.int, .nullable(.int), false, true),
    (.nullable(.int), .int, true, true), (.nullable(.int), .null, true, true),
    (.nullable(.int), .nullable(.string), false, false), (.int, .null, false, false),
    (.list(of: .int), .list(of: .dyn), true, true),
    (.list(of: .int), .list(of: .nullable(.int)), false, true),
    (.map(key: .string, value: .int), .object(fields: ["a": .int]), true, true),
    (.map(key: .string, value: .int), .object(fields: ["a": .string]), false, false),
    (.object(fields: ["a": .int]), .object(fields: ["a": .int, "b": .int]), true, true),
    (.object(fields: ["a": .int]), .object(fields: [:]), false, false),
    (.object(fields: ["a": .int]), .map(key: .string, value: .int), false, false),
  ]

  @Test(arguments: types)
  func `a type accepts types`(
    type: CELType, other: CELType, isAccepted: Bool, isAcceptedWithNull: Bool
  ) {
    #expect(type.accepts(other) == isAccepted)
    #expect(type.accepts(other, allowingNull: true) == isAcceptedWithNull)
  }

  @Test func `a regular expression is refused in a scope without a matcher`() throws {
    for source in ["name.matches('a+')", "matches(name, 'a+')"] {
      let expression = try CELExpression(parsing: source)
      #expect(try expression.check(against: CELScope(variables: ["name": .string])) == .bool)
      let error = #expect(throws: CELError.self) {
        try expression.check(
          against: CELScope(variables: ["name": .string], hasMatcher: false))
      }
      #expect(error?.kind == .unsupported)
    }
  }

  @Test func `a type is written as in CEL`() {
    let type = CELType.list(of: .map(key: .string, value: .nullable(.dyn)))
    #expect(type.description == "list(map(string, nullable(dyn)))")
    #expect(CELType.object(fields: ["b": .int, "a": .int]).description == "object(a, b)")
  }
}
