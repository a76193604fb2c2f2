import Testing

@testable import HearthCEL

/// What lets in callers without authentication, whose `auth` is null.
@Suite struct CELNullMatchTests {
  private static let user: CELType = .object(fields: [
    "uid": .string, "token": .map(key: .string, value: .dyn),
  ])
  private static let vars: CELType = .object(fields: [
    "owner": .nullable(.string), "other": .nullable(.string), "id": .string, "isPublic": .bool,
    "ids": .list(of: .string), "data": .dyn,
  ])
  private static let scope = CELScope(
    variables: [
      "auth": .nullable(user), "vars": vars,
      "request": .object(fields: ["auth": .nullable(user), "variables": vars]),
    ], nullMembers: ["auth", "request.auth"])

  /// Everything that a caller without authentication can send, of a few values.
  private static let environments: [CELEnvironment] = {
    var all: [CELEnvironment] = []
    for owner in [CELValue.unset, .null, "a"] {
      for other in [CELValue.unset, "a"] {
        for isPublic in [true, false] {
          for ids in [[], ["a"]] as [CELValue] {
            for data in [[:], ["owner": .null], ["owner": "a"]] as [CELValue] {
              let vars: CELValue = [
                "owner": owner, "other": other, "id": "a", "isPublic": .bool(isPublic),
                "ids": ids, "data": data,
              ]
              all.append(
                CELEnvironment(
                  variables: [
                    "auth": .null, "vars": vars, "request": ["auth": .null, "variables": vars],
                  ], nullMembers: ["auth", "request.auth"]))
            }
          }
        }
      }
    }
    return all
  }()

  private static func lets(in text: String) throws -> Bool {
    let expression = try parse(text)
    return environments.contains { (try? expression.evaluateCondition(in: $0)) == true }
  }

  @Test(
    arguments: [
      ("vars.owner == auth.uid", "vars.owner"), ("auth.uid == vars.owner", "vars.owner"),
      ("vars['owner'] == auth['uid']", "vars['owner']"),
      ("request.variables.owner == request.auth.uid", "request.variables.owner"),
      ("!(vars.owner != auth.uid)", "vars.owner"), ("vars.owner != auth.uid", nil),
      ("vars.id != auth.uid", nil), ("!(vars.id == auth.uid)", nil),
      ("vars.owner in [auth.uid, 'root']", "vars.owner"),
      ("auth.uid in [vars.id, vars.owner]", "vars.owner"), ("!(auth.uid in vars.ids)", nil),
      ("vars.isPublic || vars.owner == auth.uid", "vars.owner"),
      ("vars.isPublic && vars.owner == auth.uid || vars.id == auth.uid", "vars.owner"),
      ("(vars.isPublic || vars.owner == auth.uid) && vars.id != ''", "vars.owner"),
      ("vars.isPublic ? vars.owner == auth.uid : auth.uid != null", "vars.owner"),
      ("vars.other != null && vars.owner == auth.uid", "vars.owner"),
      ("vars.data.owner == auth.uid", "vars.data.owner"),
      ("vars.ids.all(id, id != auth.uid)", nil),
      ("[vars.owner].exists(o, o == auth.uid)", "o"),
    ] as [(String, String?)])
  func `a comparison that lets in a caller without authentication is found`(
    text: String, other: String?
  ) throws {
    #expect(try Self.lets(in: text), "It lets in nobody.")
    let matches = try parse(text).nullMatches(in: Self.scope)
    #expect(matches.map(\.other) == [other])
    #expect(matches.first?.nullPath.components.last == "uid")
  }

  @Test(arguments: [
    "vars.id == auth.uid", "auth.uid != null && vars.owner == auth.uid",
    "vars.owner == auth.uid && auth != null", "vars.owner != null && vars.owner == auth.uid",
    "auth.uid != null && (vars.isPublic || vars.owner == auth.uid)",
    "(vars.isPublic || vars.id == auth.uid) && auth.uid != null",
    "vars.owner == auth.token.sub", "auth.token.email_verified && vars.owner == auth.uid",
    "vars.owner != auth.token.sub", "has(auth.uid) && vars.owner == auth.uid",
    "auth.uid in vars.ids", "auth.uid in [vars.id]", "vars.ids.exists(id, id == auth.uid)",
    "auth.token.admin == true", "auth == null ? false : vars.owner == auth.uid", "auth.uid == 'a'",
    "!(vars.owner == auth.uid) && auth != null", "auth.uid.startsWith('a')",
    "auth.uid < vars.owner",
    "size(auth.uid) == 3 && vars.owner == auth.uid", "vars.owner + auth.uid == 'a'",
  ])
  func `a condition that lets in nobody without authentication has none`(text: String) throws {
    #expect(try !Self.lets(in: text), "It lets in somebody.")
    #expect(try parse(text).nullMatches(in: Self.scope) == [])
  }

  @Test(arguments: [
    "true", "vars.isPublic", "auth == null || vars.owner == auth.uid", "auth.uid == null",
    "vars.isPublic || vars.id == auth.uid", "(vars.isPublic || vars.id == auth.uid) && true",
    "vars.owner == vars.other",
  ])
  func `a condition that is meant for everybody has none`(text: String) throws {
    #expect(try Self.lets(in: text))
    #expect(try parse(text).nullMatches(in: Self.scope) == [])
  }

  @Test func `of many comparisons, the first hundred are examined`() throws {
    let text = Array(repeating: "vars.owner == auth.uid", count: 500).joined(separator: " || ")
    #expect(try parse(text).nullMatches(in: Self.scope).count == 100)
  }
}
