#if !Tools
  import Foundation

  /// The commands need an argument parser, which packages that embed Hearth do not fetch.
  @main
  enum WithoutTools {
    static func main() {
      let sentence =
        "hearth was built without its commands. Build it with the trait Tools: swift build --traits Tools\n"
      FileHandle.standardError.write(Data(sentence.utf8))
      exit(EX_UNAVAILABLE)
    }
  }
#endif
