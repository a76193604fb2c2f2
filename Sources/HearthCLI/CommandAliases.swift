#if Tools
  /// Spellings of Firebase's command line, as this one's.
  ///
  ///     dataconnect:sdk:generate --watch    dataconnect sdk generate --watch
  ///     init dataconnect:sdk                dataconnect init sdk
  ///     init dataconnect                    dataconnect init
  enum CommandAliases {
    /// Rewrites the arguments after the name of the program. Others stay as they are.
    static func rewrite(_ arguments: [String]) -> [String] {
      guard let first = arguments.first else { return arguments }
      if let words = words(first), words.count > 1 { return words + arguments.dropFirst() }
      guard first == "init", arguments.count > 1, let words = words(arguments[1]) else {
        return arguments
      }
      return ["dataconnect", "init"] + words.dropFirst() + arguments.dropFirst(2)
    }

    /// `dataconnect:sdk` → `dataconnect`, `sdk`. Nil for another word.
    private static func words(_ argument: String) -> [String]? {
      let words = argument.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
      return words.first == "dataconnect" && !words.contains("") ? words : nil
    }
  }
#endif
