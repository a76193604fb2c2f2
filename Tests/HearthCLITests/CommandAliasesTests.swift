#if Tools
  import TestSupport
  import Testing

  @testable import HearthCLI

  @Suite(.ownThreads) struct CommandAliasesTests {
    @Test(arguments: [
      ("dataconnect:sdk:generate --watch", "dataconnect sdk generate --watch"),
      ("dataconnect:sdk:generate", "dataconnect sdk generate"),
      ("dataconnect:compile --strict", "dataconnect compile --strict"),
      ("init dataconnect:sdk --app App", "dataconnect init sdk --app App"),
      ("init dataconnect", "dataconnect init"),
      // Others stay.
      ("", ""), ("--help", "--help"), ("init", "init"), ("init firestore", "init firestore"),
      ("get a.hearth dataconnect:sdk", "get a.hearth dataconnect:sdk"),
      ("dataconnect sdk generate", "dataconnect sdk generate"), ("dataconnect:", "dataconnect:"),
      ("dataconnectx:sdk", "dataconnectx:sdk"),
    ])
    func `Firebase's spellings are ours`(theirs: String, ours: String) {
      let split = { (text: String) in text.split(separator: " ").map(String.init) }
      #expect(CommandAliases.rewrite(split(theirs)) == split(ours))
    }
  }
#endif
