import Testing

@testable import HearthCEL

@Suite struct EvaluatorTests {
  // MARK: Arithmetic

  @Test(arguments: [
    Case("1 + 2", 3), Case("1u + 2u", .uint(3)), Case("1.5 + 2.5", 4.0), Case("'a' + 'b'", "ab"),
    Case("b'a' + b'b'", .bytes([97, 98])), Case("[1] + ['x']", [1, "x"]), Case("[] + []", []),
    Case("5 - 7", -2), Case("7u - 5u", .uint(2)), Case("0.5 - 1.0", -0.5),
    Case("6 * 7", 42), Case("6u * 7u", .uint(42)), Case("1.5 * 2.0", 3.0),
    Case("7 / 2", 3), Case("-7 / 2", -3), Case("7u / 2u", .uint(3)), Case("1.0 / 4.0", 0.25),
    Case("7 % 3", 1), Case("-7 % 3", -1), Case("7 % -3", 1), Case("7u % 3u", .uint(1)),
    Case("-(3)", -3), Case("-(1.5)", -1.5), Case("-(-3)", 3),
    Case("1.0 / 0.0", .double(.infinity)), Case("-1.0 / 0.0", .double(-.infinity)),
    Case("0.0 / 0.0", .double(.nan)), Case("1e308 * 10.0", .double(.infinity)),
  ])
  func `arithmetic has its value`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    "9223372036854775807 + 1", "-9223372036854775808 - 1", "-9223372036854775808 + -1",
    "9223372036854775807 * 2", "-9223372036854775808 * -1", "-9223372036854775808 / -1",
    "-9223372036854775808 % -1", "-(-9223372036854775808)", "--9223372036854775808",
    "18446744073709551615u + 1u", "0u - 1u", "18446744073709551615u * 2u",
  ])
  func `a result that does not fit is an error`(text: String) throws {
    #expect(try failure(text)?.kind == .overflow)
  }

  @Test(arguments: ["1 / 0", "1 % 0", "1u / 0u", "1u % 0u", "-9223372036854775808 / 0"])
  func `a division by zero is an error`(text: String) throws {
    #expect(try failure(text)?.kind == .divisionByZero)
  }

  @Test(arguments: [
    "1 + 1u", "1 + 1.0", "1u * 1.0", "'a' + 1", "1 + 'a'", "'a' - 'b'", "[1] - [1]", "5.0 % 2.0",
    "true + true", "{} + {}", "-'a'", "-(1u)", "-true", "!1", "!'a'", "[1] + 1", "'a' * 2",
    "timestamp(0) + timestamp(0)", "duration('1s') * 2", "duration('1s') - timestamp(0)",
  ])
  func `operands of other types are errors`(text: String) throws {
    #expect(try failure(text)?.kind == .typeMismatch)
  }

  @Test(arguments: [
    "1 + null", "null < 1", "-null", "!null", "null.a", "null[0]", "size(null)",
    "null ? 1 : 2", "null && true", "[1].all(x, null)", "null.startsWith('a')", "null in null",
    "{null: 1}", "null.exists(x, true)",
  ])
  func `a null operand is an error of its own kind`(text: String) throws {
    #expect(try failure(text)?.kind == .nullOperand)
  }

  // MARK: Equality and order

  @Test(arguments: [
    "1 == 1", "1 == 1u", "1 == 1.0", "1u == 1.0", "1.0 == 1", "'a' == 'a'", "b'a' == b'a'",
    "null == null", "[] == []", "[1, 'a'] == [1.0, 'a']", "{} == {}", "{'a': 1} == {'a': 1u}",
    "{1: 'a'} == {1u: 'a'}", "{'a': [1]} == {'a': [1]}", "int == int", "type(1) == int",
    "1 != 2", "1 != '1'", "true != 1", "null != 0", "null != false", "[1] != [2]", "[1] != [1, 2]",
    "[] != {}", "'a' != b'a'", "{'a': 1} != {'a': 2}", "{'a': 1} != {'b': 1}",
    "{'a': 1} != {'a': 1, 'b': 2}", "'e\\u0301' != '\\u00e9'",
    "9007199254740993 != 9007199254740992.0", "9223372036854775807 != 9223372036854775808.0",
    "18446744073709551615u != 18446744073709551616.0", "-1 != 18446744073709551615u",
    "0.0 == -0.0", "!(0.0 / 0.0 == 0.0 / 0.0)", "0.0 / 0.0 != 0.0 / 0.0",
    "[0.0 / 0.0] != [0.0 / 0.0]", "1 != 0.0 / 0.0",
  ])
  func `equality compares values of all types`(text: String) throws {
    #expect(try evaluate(text) == true)
  }

  @Test(arguments: [
    "1 < 2", "1 <= 1", "2 > 1", "2 >= 2", "!(1 < 1)", "1u < 2u", "1.0 < 1.5", "-1 < 0u",
    "0u > -1", "1 < 1.5", "1.5 > 1", "1u < 1.5", "2 > 1.5", "-1 < -0.5", "-2 < -1.5",
    "9007199254740993 > 9007199254740992.0", "9223372036854775807 < 9223372036854775808.0",
    "-9223372036854775808 >= -9223372036854775808.0", "18446744073709551615u < 1e20",
    "0u > -0.5", "0u >= -0.0", "1 < 1.0 / 0.0", "1u > -1.0 / 0.0", "false < true",
    "'a' < 'b'", "'a' < 'aa'", "'' < 'a'", "'Z' < 'a'", "'\\uffff' < '\\U00010000'",
    "b'a' < b'b'", "b'' < b'\\000'", "!(0.0 / 0.0 < 1.0)", "!(0.0 / 0.0 >= 0.0 / 0.0)",
    "!(1 < 0.0 / 0.0)", "!(1u >= 0.0 / 0.0)",
    "timestamp(0) < timestamp(1)", "duration('1s') > duration('999ms')",
    "duration('-1s') < duration('-1ms')",
  ])
  func `values of one type and numbers are ordered`(text: String) throws {
    #expect(try evaluate(text) == true)
  }

  @Test(arguments: [
    "1 < 'a'", "'a' < b'a'", "true < 1", "[1] < [2]", "{} < {}", "int < uint",
    "timestamp(0) < duration('1s')",
  ])
  func `other values are not ordered`(text: String) throws {
    #expect(try failure(text)?.kind == .typeMismatch)
  }

  // MARK: in, members and indexes

  @Test(arguments: [
    Case("1 in [1, 2]", true), Case("3 in [1, 2]", false), Case("1.0 in [1u]", true),
    Case("'1' in [1]", false), Case("[1] in [[1]]", true), Case("null in [null]", true),
    Case("null in []", false), Case("'a' in {'a': null}", true), Case("'b' in {'a': 1}", false),
    Case("1u in {1: 2}", true), Case("1.0 in {1: 2}", true), Case("1.5 in {1: 2}", false),
    Case("[] in {1: 2}", false), Case("null in {1: 2}", false), Case("0.0/0.0 in [0.0/0.0]", false),
    Case("[1, 2][0]", 1), Case("[1, 2][1u]", 2), Case("[1, 2][1.0]", 2), Case("[[1]][0][0]", 1),
    Case("{'a': 1}.a", 1), Case("{'a': 1}['a']", 1), Case("{'a': {'b': 2}}.a.b", 2),
    Case("{0: 1, 2u: 3, true: 4}[2]", 3), Case("{5: 'x'}[5u]", "x"), Case("{5u: 'x'}[5.0]", "x"),
    Case("{true: 5}[true]", 5), Case("{'n': null}.n", .null),
    Case("has({'a': 1}.a)", true), Case("has({'a': null}.a)", true), Case("has({}.a)", false),
    Case("has({'a': {'b': 1}}.a.b)", true), Case("true ? 1 : 1 / 0", 1),
    Case("false ? 1 / 0 : 2", 2), Case("true ? 'x' : 1", "x"),
  ])
  func `a member is found`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    Mistake("{}.a", .missingKey), Mistake("{'a': 1}['b']", .missingKey),
    Mistake("{0: 1}[1]", .missingKey), Mistake("{1: 1}['1']", .missingKey),
    Mistake("{1: 1}[1.5]", .missingKey), Mistake("has({}.a.b)", .missingKey),
    Mistake("[1][1]", .indexOutOfRange), Mistake("[1][-1]", .indexOutOfRange),
    Mistake("[][0]", .indexOutOfRange), Mistake("[1][0.5]", .indexOutOfRange),
    Mistake("[1][18446744073709551615u]", .indexOutOfRange),
    Mistake("[1]['a']", .typeMismatch), Mistake("1.a", .typeMismatch),
    Mistake("[1].a", .typeMismatch), Mistake("'abc'[0]", .typeMismatch),
    Mistake("{}[[]]", .typeMismatch), Mistake("has(1.a)", .typeMismatch),
    Mistake("1 in 1", .typeMismatch), Mistake("'a' in 'abc'", .typeMismatch),
    Mistake("{'a': 1, 'a': 2}", .duplicateKey), Mistake("{1: 1, 1u: 2}", .duplicateKey),
    Mistake("{1.0: 1}", .typeMismatch), Mistake("{[]: 1}", .typeMismatch),
    Mistake("1 ? 2 : 3", .typeMismatch), Mistake("x", .undeclared), Mistake("x.y", .undeclared),
    Mistake("dyn", .undeclared), Mistake("f(1)", .undeclared), Mistake("1.f()", .undeclared),
    Mistake("startsWith('a', 'b')", .undeclared), Mistake("'a'.int()", .undeclared),
    Mistake("size()", .typeMismatch), Mistake("size(1, 2)", .typeMismatch),
    Mistake("'a'.startsWith()", .typeMismatch), Mistake("uuidV4(1)", .typeMismatch),
    Mistake("[1].all(1)", .typeMismatch), Mistake("has(1, 2)", .typeMismatch),
  ])
  func `a mistake has its kind`(_ mistake: Mistake) throws {
    #expect(try failure(mistake.text)?.kind == mistake.kind)
  }

  // MARK: Logic

  @Test(arguments: [
    Case("true && true", true), Case("true && false", false), Case("false || true", true),
    Case("false || false", false), Case("!true", false), Case("!false", true),
    Case("false && 1 / 0 == 1", false), Case("1 / 0 == 1 && false", false),
    Case("true || 1 / 0 == 1", true), Case("1 / 0 == 1 || true", true),
    Case("false && 32", false), Case("'horses' && false", false), Case("true || 32", true),
    Case("'horses' || true", true), Case("null || true", true), Case("x.y && false", false),
    Case("1/0 == 1 || 2/0 == 1 || true", true), Case("f() || true", true),
    Case("(1/0 == 1 && true) || true", true), Case("!(1/0 == 1 && false)", true),
  ])
  func `an operand that decides absorbs errors`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    Mistake("1 / 0 == 1 && true", .divisionByZero), Mistake("true && 1 / 0 == 1", .divisionByZero),
    Mistake("1 / 0 == 1 || false", .divisionByZero), Mistake("'a' && 'b'", .typeMismatch),
    Mistake("'a' || false", .typeMismatch), Mistake("x || 1 / 0 == 1", .undeclared),
    Mistake("1 / 0 == 1 || x", .divisionByZero), Mistake("1 / 0 > 4 ? 'a' : 'b'", .divisionByZero),
  ])
  func `the first error is the result if no operand decides`(_ mistake: Mistake) throws {
    #expect(try failure(mistake.text)?.kind == mistake.kind)
  }

  // MARK: Macros

  @Test(arguments: [
    Case("[1, 2, 3].all(e, e > 0)", true), Case("[1, 2, 3].all(e, e == 2)", false),
    Case("[].all(e, e > 0)", true), Case("[1, 'foo', 3].all(e, e == 1)", false),
    Case("[1, 2, 3].all(e, 6 / (2 - e) == 6)", false),
    Case("{'a': 1, 'b': 2}.all(k, k in ['a', 'b'])", true),
    Case("[1, 2, 3].exists(e, e == 2)", true), Case("[1, 2, 3].exists(e, e > 3)", false),
    Case("[].exists(e, e == 2)", false), Case("[1, 'foo', 3].exists(e, e + 1 == 4)", true),
    Case("{'a': 1}.exists(k, k == 'a')", true), Case("[0, 1].exists(e, 1 / e == 1)", true),
    Case("[7].exists_one(a, a == 7)", true), Case("[].exists_one(a, a == 7)", false),
    Case("[7, 7].exists_one(a, a == 7)", false), Case("[6, 7, 8].exists_one(a, a % 5 == 2)", true),
    Case("[3].map(n, n * n)", [9]), Case("[2, 4].map(n, n / 2)", [1, 2]), Case("[].map(n, n)", []),
    Case("{3: 0, 1: 0, 2u: 0}.map(k, k)", [1, .uint(2), 3]),
    Case("{'b': 1, 'a': 2, true: 3, false: 4, -1: 5}.map(k, k)", [false, true, -1, "a", "b"]),
    Case("[1, 2, 3].map(n, n > 1, n * 10)", [20, 30]),
    Case("[1, 2, 3].filter(n, n % 2 == 1)", [1, 3]), Case("[].filter(n, n > 1)", []),
    Case("{0: 10, 1: 11}.filter(k, k == 1)", [1]),
    Case("[1, 2].map(x, [3, 4].map(y, x * y))", [[3, 4], [6, 8]]),
    Case("[1].map(x, [2].map(x, x))", [[2]]), Case("[[1]].map(x, x.map(x, x + 1))", [[2]]),
    Case("[1, 2].exists(x, [1, 2].all(y, x >= y))", true),
    Case("['foal', 'foo', 'four'].all(n, n.startsWith('fo'))", true),
  ])
  func `a macro runs over a list or the keys of a map`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    Mistake("[1, 2, 3].exists(e, e / 0 == 17)", .divisionByZero),
    Mistake("[1, 'foo', 3].all(e, e % 2 == 1)", .typeMismatch),
    Mistake("[0, 1].all(e, 1 / e == 1)", .divisionByZero),
    Mistake("[3, 2, 1, 0].exists_one(n, 12 / n > 1)", .divisionByZero),
    Mistake("[2, 1, 0].map(n, 4 / n)", .divisionByZero),
    Mistake("[3, 2, 1, 0].filter(n, 12 / n > 4)", .divisionByZero),
    Mistake("[1].filter(n, n)", .typeMismatch), Mistake("[1].map(n, n, n)", .typeMismatch),
    Mistake("1.all(x, true)", .typeMismatch), Mistake("'abc'.map(x, x)", .typeMismatch),
    Mistake("[1].all(x, y)", .undeclared), Mistake("[1].map(x, 1) == [x]", .undeclared),
  ])
  func `a macro without a deciding element ends in its error`(_ mistake: Mistake) throws {
    #expect(try failure(mistake.text)?.kind == mistake.kind)
  }

  @Test func `the variable of a macro hides a root name`() throws {
    let environment = CELEnvironment(variables: ["x": 5])
    #expect(try evaluate("[1, 2].map(x, x) + [x]", environment) == [1, 2, 5])
  }

  // MARK: Functions

  @Test(arguments: [
    Case("size('día')", 3), Case("'🐱'.size()", 1), Case("size('e\\u0301')", 2),
    Case("size(b'día')", 4), Case("size([1, 2])", 2), Case("{'a': 1}.size()", 1),
    Case("size('')", 0),
    Case("'hello'.startsWith('he')", true), Case("'hello'.startsWith('lo')", false),
    Case("'hello'.startsWith('')", true), Case("'he'.startsWith('hello')", false),
    Case("'hello'.endsWith('lo')", true), Case("'hello'.endsWith('he')", false),
    Case("'hello'.endsWith('')", true), Case("'lo'.endsWith('hello')", false),
    Case("'e\\u0301'.startsWith('e')", true), Case("'e\\u0301' .endsWith('\\u00e9')", false),
    Case("'hello'.contains('ell')", true), Case("'hello'.contains('elo')", false),
    Case("'hello'.contains('')", true), Case("''.contains('a')", false),
    Case("'aaab'.contains('aab')", true), Case("'abababac'.contains('ababac')", true),
    Case("dyn(1) + 1", 2), Case("type(dyn([1, 'one'])) == list", true),
  ])
  func `a function has its value`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    Case("type(null)", .type("null_type")), Case("type(true)", .type("bool")),
    Case("type(1)", .type("int")), Case("type(1u)", .type("uint")),
    Case("type(1.0)", .type("double")), Case("type('')", .type("string")),
    Case("type(b'')", .type("bytes")), Case("type([])", .type("list")),
    Case("type({})", .type("map")), Case("type(int)", .type("type")),
    Case("type(type)", .type("type")), Case("type(type(1)) == type", true),
    Case("type(timestamp(0)) == google.protobuf.Timestamp", true),
    Case("type(duration('1s')) == google.protobuf.Duration", true),
    Case("type(7) == type(7u)", false), Case("null_type", .type("null_type")),
  ])
  func `a type is a value`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test func `a variable hides the type of its name`() throws {
    #expect(try evaluate("int + 1", CELEnvironment(variables: ["int": 1])) == 2)
    #expect(try evaluate("[1].map(list, list)") == [1])
  }

  @Test(arguments: [
    Case("int(42u)", 42), Case("int(-123.456)", -123), Case("int(1.9)", 1), Case("int('987')", 987),
    Case("int('-7')", -7), Case("int(5)", 5), Case("int(-9223372036854775808.0)", .int(.min)),
    Case("int(timestamp('2004-09-16T23:59:59Z'))", 1_095_379_199),
    Case("uint(1729)", .uint(1729)), Case("uint(25.5)", .uint(25)), Case("uint('300')", .uint(300)),
    Case("uint(1e19)", .uint(10_000_000_000_000_000_000)), Case("uint(-0.5)", .uint(0)),
    Case("double(0)", 0.0), Case("double(9223372036854775807)", 9.223372036854775807e18),
    Case("double(123u)", 123.0), Case("double('-84.32e7')", -8.432e8), Case("double('123')", 123.0),
    Case("double('NaN')", .double(.nan)), Case("double('-inf')", .double(-.infinity)),
    Case("string(123)", "123"), Case("string(-456)", "-456"), Case("string(9876u)", "9876"),
    Case("string(123.456)", "123.456"), Case("string(-4.5e-3)", "-0.0045"),
    Case("string(1.0)", "1"), Case("string(true)", "true"), Case("string('x')", "x"),
    Case("string(b'\\303\\277')", "ÿ"), Case("string(0.0 / 0.0)", "NaN"),
    Case("string(-1.0 / 0.0)", "-inf"),
    Case("string(1e21)", "1e+21"),
    Case("string(timestamp('2009-02-13T23:31:30Z'))", "2009-02-13T23:31:30Z"),
    Case("string(duration('1000000s'))", "1000000s"), Case("string(duration('-1.5s'))", "-1.5s"),
    Case("bool('true')", true), Case("bool('F')", false), Case("bool(true)", true),
    Case("bytes('ÿ')", .bytes([195, 191])), Case("bytes(b'a')", .bytes([97])),
    Case("bytes('\\377') == b'\\377'", false),
    Case("timestamp(1) == timestamp('1970-01-01T00:00:01Z')", true),
    Case("timestamp(timestamp(1)) == timestamp(1)", true),
    Case("duration(duration('1s')) == duration('1s')", true),
  ])
  func `a conversion has its value`(_ example: Case) throws {
    #expect(try evaluate(example.text) == example.value)
  }

  @Test(arguments: [
    Mistake("int(18446744073709551615u)", .overflow), Mistake("int(1e99)", .overflow),
    Mistake("int(9223372036854775808.0)", .overflow), Mistake("int(0.0 / 0.0)", .overflow),
    Mistake("int(-1.0 / 0.0)", .overflow), Mistake("uint(-1)", .overflow),
    Mistake("uint(-1.0)", .overflow), Mistake("uint(18446744073709551616.0)", .overflow),
    Mistake("uint(6.022e23)", .overflow), Mistake("int('abc')", .invalidValue),
    Mistake("int('')", .invalidValue), Mistake("int('1.5')", .invalidValue),
    Mistake("int('9223372036854775808')", .invalidValue), Mistake("uint('-1')", .invalidValue),
    Mistake("double('x')", .invalidValue), Mistake("double('1e999')", .invalidValue),
    Mistake("double('')", .invalidValue), Mistake("bool('yes')", .invalidValue),
    Mistake("string(b'\\000\\xff')", .invalidValue), Mistake("int(true)", .typeMismatch),
    Mistake("string([])", .typeMismatch), Mistake("bool(1)", .typeMismatch),
    Mistake("double(true)", .typeMismatch), Mistake("duration(1)", .typeMismatch),
    Mistake("timestamp('yesterday')", .invalidValue), Mistake("duration('1')", .invalidValue),
    Mistake("string(null)", .nullOperand), Mistake("int(null)", .nullOperand),
    Mistake("timestamp(9223372036854775807)", .overflow),
  ])
  func `a conversion that is impossible is an error`(_ mistake: Mistake) throws {
    #expect(try failure(mistake.text)?.kind == mistake.kind)
  }

  // MARK: Regular expressions

  @Test func `matches calls the matcher of the environment`() throws {
    var environment = CELEnvironment()
    environment.matches = { pattern, text in "\(pattern)|\(text)" == "^a|abc" }
    #expect(try evaluate("'abc'.matches('^a')", environment) == true)
    #expect(try evaluate("matches('abc', '^a')", environment) == true)
    #expect(try evaluate("'abc'.matches('^b')", environment) == false)
  }

  @Test func `matches is not supported without a matcher`() throws {
    let error = try failure("true && 'abc'.matches('a')")
    #expect(error?.kind == .unsupported)
    #expect(error?.position.column == 15)
  }

  @Test func `an error of the matcher is the cause`() throws {
    struct Malformed: Error {}
    var environment = CELEnvironment()
    environment.matches = { _, _ in throw Malformed() }
    let error = try failure("'abc'.matches('(')", environment)
    #expect(error?.kind == .invalidValue)
    #expect(error?.cause is Malformed)
    #expect(try evaluate("'abc'.matches('(') || true", environment) == true)
  }

  // MARK: Steps

  @Test func `an evaluation ends after the limit of steps`() throws {
    let environment = CELEnvironment(
      variables: ["l": .list((0..<1000).map { .int($0) })], stepLimit: 100_000)
    #expect(try evaluate("l.all(x, x >= 0)", environment) == true)
    for text in [
      "l.all(x, l.all(y, x + y >= 0))", "l.map(x, l.map(y, l))", "l.exists(x, l + l == l)",
      "l.filter(x, l == l) == []", "l.map(x, l in [[], l])",
    ] {
      #expect(try failure(text, environment)?.kind == .stepLimit, "\(text)")
    }
  }

  @Test func `the limit of steps is absorbed by nothing`() throws {
    let environment = CELEnvironment(
      variables: ["l": .list((0..<1000).map { .int($0) })], stepLimit: 5000)
    for text in [
      "l.all(x, l.all(y, true)) || true", "[1].exists(z, l.all(x, l.all(y, true)) || true)",
      "true || true && l.all(x, l.all(y, true))",
    ] {
      let isShort = text.hasPrefix("true ||")
      #expect(try (failure(text, environment)?.kind == .stepLimit) == !isShort, "\(text)")
    }
    #expect(try failure("1", CELEnvironment(stepLimit: 0))?.kind == .stepLimit)
    #expect(try failure("1", CELEnvironment(stepLimit: .min))?.kind == .stepLimit)
    #expect(try evaluate("1", CELEnvironment(stepLimit: .max)) == 1)
  }

  @Test func `a text that doubles ends after the limit of steps`() throws {
    let doubled = "['abcdefghijklmnop']" + String(repeating: ".map(s, s + s)", count: 60)
    #expect(try failure(doubled + "[0] == ''")?.kind == .stepLimit)
    let bytes = "[b'abcdefghijklmnop']" + String(repeating: ".map(s, s + s)", count: 60)
    #expect(try failure(bytes + "[0] == b''")?.kind == .stepLimit)
    let lists = "[[1]]" + String(repeating: ".map(s, s + s)", count: 60)
    #expect(try failure(lists + "[0] == []")?.kind == .stepLimit)
  }

  @Test func `a list that contains itself twice at each level ends after the limit of steps`()
    throws
  {
    // 60 lists in memory, 2^60 elements to visit.
    let tree = "[1]" + String(repeating: ".map(x, [x, x])", count: 60)
    #expect(try failure(tree)?.kind == .stepLimit)
    #expect(try failure("\(tree) == \(tree)")?.kind == .stepLimit)
    #expect(try evaluate("size(\(tree))") == 1)
  }

  @Test func `a value that is nested too deeply is an error`() throws {
    var deep: CELValue = 1
    for _ in 0..<250 { deep = [deep] }
    var map: CELValue = 1
    for _ in 0..<251 { map = ["a": map] }
    let environment = CELEnvironment(variables: ["d": deep, "m": map])
    #expect(try evaluate("d == d && d in [1, 2, d[0]] == false", environment) == true)
    #expect(try failure("[d] == [d]", environment)?.kind == .tooDeep)
    #expect(try failure("m == m", environment)?.kind == .tooDeep)
    #expect(try failure("m", environment)?.kind == .tooDeep)
    #expect(try evaluate("m.a == m.a", environment) == true)
  }

  // MARK: Positions

  @Test(arguments: [
    ("1 + 2 / 0", 7), ("true && 1 + 'a' == 2", 11), ("{}.abc", 4), ("has(1.abc)", 7),
    ("[1][5]", 4), ("size(1)", 1), ("'a'.foo()", 5), ("[1].all(x, 7)", 12), ("1 ? 2 : 3", 1),
    ("[1, unknown]", 5), ("{1: 1, 1: 2}", 8), ("!(1 + 1)", 5), ("1.all(x, x)", 1),
    ("int('a')", 1), ("-(-9223372036854775808)", 1), ("true || 1\n && 2", -1),
  ])
  func `an error has the position of its operator`(text: String, column: Int) throws {
    let error = try failure(text)
    #expect(error?.position.column ?? -1 == column, "\(String(describing: error))")
  }

  @Test func `a name without a value has a suggestion`() throws {
    let environment = CELEnvironment(variables: ["request": [:]])
    #expect(
      try failure("reqest.a", environment)?.message
        == "The variable \"reqest\" has no value. Did you mean \"request\"?")
    #expect(
      try failure("'a'.startWith('a')")?.message
        == "The function \"startWith\" is not known. Did you mean \"startsWith\"?")
    #expect(
      try failure("startsWith('a', 'b')")?.message
        == "The function \"startsWith\" is called as x.startsWith().")
  }
}
