#if Tools
  import ProcessorTime
  import TestSupport
  import Testing

  @testable import HearthDataConnect

  /// No YAML traps the parser of configurations, and every finding has a place in its file.
  @Suite struct ConfigurationFuzzTests {
    private static let sources = [
      """
      specVersion: "v1"
      serviceId: films
      location: europe-west1
      schema:
        source: ./schema
        datasource:
          postgresql: {database: x, cloudSql: {instanceId: y}}
          embedded: {path: ./data, mapSize: 1GB}
      connectorDirs: ["./a", "./b"]
      """,
      """
      # A connector.
      connectorId: movies
      authMode: PUBLIC
      generate:
        kotlinSdk: {outputDir: ../k, package: com.example}
        swiftSdk: &sdk
          - outputDir: "../movies-generated"
            package: Movies
            observablePublisher: observableMacro
            clientCache: {maxAge: 5s, storage: persistent}
          - package: 'B'
            coreSdkPackageLocation: >-
              ../../hearth
        llmTools: *sdk
      """,
    ]

    private static let words =
      "connectorId: generate: swiftSdk: serviceId: schema: source: connectorDirs: outputDir: package: "
      + "clientCache: maxAge: storage: - : ? | > >- & * &a *a *b ! !!str !!binary !!map % %YAML --- ... # , "
      + "[ ] { } \" ' \\ ~ null true 5s 1GB 1e400 -1 0x1F << <<: @ ` \t \u{FEFF} \u{2028} \u{85} \u{0} é 😀"

    private func check(_ text: String, _ note: @autoclosure () -> String) {
      let lines = text.unicodeScalars.split(omittingEmptySubsequences: false) { $0 == "\n" }
      func check(_ findings: [Diagnostic]) {
        for finding in findings {
          #expect(!finding.message.isEmpty)
          // Other characters end lines of YAML, too.
          let others: [Unicode.Scalar] = ["\r", "\u{85}", "\u{2028}", "\u{2029}"]
          guard !text.unicodeScalars.contains(where: others.contains) else { continue }
          let isInside =
            finding.line >= 1 && finding.line <= lines.count + 1 && finding.column >= 1
            && finding.column <= (finding.line <= lines.count ? lines[finding.line - 1].count : 0)
              + 2
          #expect(isInside, "\(finding) \(note())\n\(text.debugDescription)")
        }
      }
      do throws(ProjectError) {
        let root = try YAMLNode.parse(text, path: "x.yaml")
        var reader = YAMLReader(path: "x.yaml")
        _ = ServiceConfiguration(root, reader: &reader)
        _ = ConnectorConfiguration(root, reader: &reader)
        check(reader.diagnostics)
        let sdk = ConnectorConfiguration.NewSDK(outputFolder: "../a", package: "A")
        if let edited = try? ConnectorConfiguration.text(text, path: "x.yaml", adding: [sdk]) {
          #expect((try? YAMLNode.parse(edited, path: "x.yaml")) != nil, "\(note())")
        }
      } catch {
        #expect(!error.diagnostics.isEmpty)
        check(error.diagnostics)
      }
    }

    @Test(arguments: 0..<40)
    func `random bytes of configurations`(seed: Int) {
      var random = SeededGenerator(seed: UInt64(seed) &+ 3000)
      for _ in 0..<30 {
        let bytes = (0..<Int.random(in: 0...120, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        check(String(decoding: bytes, as: UTF8.self), "seed \(seed)")
      }
    }

    @Test(arguments: 0..<40)
    func `soups of tokens of configurations`(seed: Int) {
      var random = SeededGenerator(seed: UInt64(seed) &+ 4000)
      let words = Self.words.split(separator: " ").map(String.init)
      for _ in 0..<40 {
        var text = ""
        for _ in 0..<Int.random(in: 0...40, using: &random) {
          text += words.randomElement(using: &random) ?? ""
          switch Int.random(in: 0..<6, using: &random) {
          case 0: text += "\n"
          case 1: text += "\n" + String(repeating: " ", count: .random(in: 0...6, using: &random))
          default: text += " "
          }
        }
        check(text, "seed \(seed)")
      }
    }

    @Test(arguments: 0..<60)
    func `changed configurations`(seed: Int) {
      var random = SeededGenerator(seed: UInt64(seed) &+ 5000)
      let words = Self.words.split(separator: " ").map(String.init)
      for source in Self.sources {
        check(source, "unchanged")
        for _ in 0..<15 {
          var scalars = Array(source.unicodeScalars)
          for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0..<scalars.count, using: &random)
            let end = min(scalars.count, index + Int.random(in: 1...12, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: scalars.removeSubrange(index..<end)
            case 1: scalars.insert(contentsOf: Array(scalars[index..<end]), at: index)
            case 2:
              let word = words.randomElement(using: &random) ?? ""
              scalars.replaceSubrange(index..<end, with: Array(word.unicodeScalars))
            default: scalars.swapAt(index, Int.random(in: 0..<scalars.count, using: &random))
            }
            if scalars.isEmpty { scalars = ["a"] }
          }
          var text = String.UnicodeScalarView()
          text.append(contentsOf: scalars)
          check(String(text), "seed \(seed)")
        }
      }
    }

    @Test func `a configuration that is nested too deep, or that repeats itself, is an error`() {
      for text in [
        String(repeating: "[", count: 20_000), String(repeating: "{a: ", count: 20_000),
        String(repeating: "- ", count: 20_000), String(repeating: "? ", count: 20_000),
        (0..<400).map { String(repeating: " ", count: $0) + "a:\n" }.joined(),
        "a0: &a0 [x, x]\n"
          + (1..<40).map { "a\($0): &a\($0) [*a\($0 - 1), *a\($0 - 1)]\n" }.joined(),
        "a: &a [*a]", "a: &a {b: *a}",
      ] {
        let began = ProcessorTime.ofThread
        check(text, "deep")
        #expect(ProcessorTime.ofThread - began < .seconds(20))
      }
    }
  }
#endif
