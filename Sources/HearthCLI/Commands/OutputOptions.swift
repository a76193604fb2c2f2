#if Tools
  import ArgumentParser

  /// Whether output is for people or for programs.
  struct OutputOptions: ParsableArguments {
    @Flag(help: "One JSON object a line; documents in the form of Firestore's REST interface.")
    var json = false
  }
#endif
