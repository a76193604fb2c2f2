import HearthText

/// The demo's measurements.
struct DemoFigures: Sendable {
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

  /// How long a change took until it was durable, and until the listener had it: medians.
  var acknowledged: Duration { acknowledgements.median }
  var delivered: Duration { latencies.median }

  private func rate(_ time: Duration) -> Int {
    Int(Double(documents) / max(time / .seconds(1), 1e-6))
  }
}

extension DemoFigures {
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
      milliseconds("acknowledgedMilliseconds", acknowledged),
      milliseconds("newsMilliseconds", delivered),
      milliseconds("reopenMilliseconds", reopenTime),
      .init("fileBytes", fileBytes), .init("documentBytes", documentBytes),
      .init("changeLogBytes", changeLogBytes), .init("bytesPerDocument", bytesPerDocument),
    ])
  }
}

extension [Duration] {
  fileprivate var median: Duration { sorted().dropFirst(count / 2).first ?? .zero }
}
