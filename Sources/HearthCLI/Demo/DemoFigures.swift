#if Tools
  import Hearth
  import HearthText

  /// The demo's measurements.
  struct DemoFigures {
    var collection = ""
    var exampleID = ""
    var documents = 0
    var inputBytes = 0
    var importTime = Duration.zero
    var importCommits = 0
    var readTime = Duration.zero
    var acknowledgements: [Duration] = []
    var latencies: [Duration] = []
    var reopenTime = Duration.zero
    var fileBytes = 0
    var documentBytes = 0
    var changeLogBytes = 0

    var importRate: Int { rate(importTime) }
    var readRate: Int { rate(readTime) }
    var bytesPerDocument: Int { documents == 0 ? 0 : fileBytes / documents }

    private func rate(_ time: Duration) -> Int {
      Int(Double(documents) / max(time / .seconds(1), 1e-6))
    }

    var json: JSON {
      func milliseconds(_ name: String, _ duration: Duration) -> JSON.Member {
        JSON.Member(name, .double(duration / .milliseconds(1)))
      }
      return .object([
        JSON.Member("collection", .string(collection)),
        .init("documents", documents), .init("inputBytes", inputBytes),
        milliseconds("importMilliseconds", importTime),
        .init("importDocumentsPerSecond", importRate), .init("importCommits", importCommits),
        milliseconds("readMilliseconds", readTime), .init("readDocumentsPerSecond", readRate),
        milliseconds("acknowledgedMilliseconds", acknowledgements.median),
        milliseconds("newsMilliseconds", latencies.median),
        milliseconds("reopenMilliseconds", reopenTime),
        .init("fileBytes", fileBytes), .init("documentBytes", documentBytes),
        .init("changeLogBytes", changeLogBytes), .init("bytesPerDocument", bytesPerDocument),
      ])
    }
  }

  extension [Duration] {
    var median: Duration { sorted().dropFirst(count / 2).first ?? .zero }
  }
#endif
