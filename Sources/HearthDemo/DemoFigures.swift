/// The demo's measurements.
package struct DemoFigures: Sendable {
  package internal(set) var collection = ""
  package internal(set) var exampleID = ""
  package internal(set) var documents = 0
  package internal(set) var inputBytes = 0
  package internal(set) var importTime = Duration.zero
  package internal(set) var importCommits = 0
  package internal(set) var readTime = Duration.zero
  var acknowledgements: [Duration] = []
  var latencies: [Duration] = []
  package internal(set) var reopenTime = Duration.zero
  package internal(set) var fileBytes = 0
  package internal(set) var documentBytes = 0
  package internal(set) var changeLogBytes = 0

  package var importRate: Int { rate(importTime) }
  package var readRate: Int { rate(readTime) }
  package var bytesPerDocument: Int { documents == 0 ? 0 : fileBytes / documents }

  /// How long a change took until it was durable, and until the listener had it: medians.
  package var acknowledged: Duration { acknowledgements.median }
  package var delivered: Duration { latencies.median }

  private func rate(_ time: Duration) -> Int {
    Int(Double(documents) / max(time / .seconds(1), 1e-6))
  }
}

extension [Duration] {
  fileprivate var median: Duration { sorted().dropFirst(count / 2).first ?? .zero }
}
