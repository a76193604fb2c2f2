#if Tools
  extension ConnectorConfiguration {
    /// A block to add to a `connector.yaml`.
    struct NewSDK {
      var outputFolder: String
      var package: String
      var runtimeLocation: String?

      fileprivate var lines: [String] {
        var lines = [
          "outputDir: \(SwiftNames.literal(outputFolder))",
          "package: \(SwiftNames.literal(package))",
        ]
        if let runtimeLocation {
          lines.append("coreSdkPackageLocation: \(SwiftNames.literal(runtimeLocation))")
        }
        return lines
      }
    }

    /// The text of a `connector.yaml` with `swiftSdk` blocks. Its other lines, and their comments, stay
    /// as they are.
    ///
    /// Throws a `ProjectError` if the file is not valid, or has `generate` in braces.
    static func text(
      _ text: String, path: String, adding sdks: [NewSDK]
    ) throws(ProjectError) -> String {
      let root = try YAMLNode.parse(text, path: path)
      var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
      if let generate = root.members.first(where: { $0.name == "generate" }) {
        // Into the block, before its first member; or below the name of an empty one.
        let first = generate.value.members.first
        let indentation = (first?.column ?? generate.column + 2) - 1
        let isInBraces =
          first.map { $0.line == generate.line } ?? !generate.value.isNull
        guard !isInBraces else {
          throw ProjectError([
            Diagnostic(
              error: "Write generate without braces, with its members on lines of their own.",
              path: path, line: generate.line, column: generate.column)
          ])
        }
        let index = first.map { $0.line - 1 } ?? generate.line
        lines.insert(contentsOf: block(sdks, indentation: indentation), at: index)
      } else {
        if lines.last?.isEmpty == true { lines.removeLast() }
        lines += ["generate:"] + block(sdks, indentation: 2) + [""]
      }
      let result = lines.joined(separator: "\n")
      // The places of nodes are the parser's: check the result.
      var reader = YAMLReader(path: path)
      let edited = ConnectorConfiguration(
        try YAMLNode.parse(result, path: path), reader: &reader)
      guard !reader.hasErrors, edited.swiftSDKs.count == sdks.count else {
        throw ProjectError("swiftSdk cannot be added: add it by hand.", path: path)
      }
      return result
    }

    private static func block(_ sdks: [NewSDK], indentation: Int) -> [String] {
      let space = String(repeating: " ", count: indentation)
      let body =
        sdks.count == 1
        ? sdks[0].lines.map { "  \($0)" }
        : sdks.flatMap { sdk in
          sdk.lines.enumerated().map { "  \($0.offset == 0 ? "- " : "  ")\($0.element)" }
        }
      return (["swiftSdk:"] + body).map { space + $0 }
    }
  }
#endif
