import Benchmark
import Workloads

/// Makes a benchmark of every workload of a subject.
public func register(_ subject: Workload.Subject) {
  for workload in Workload.all where workload.subject == subject {
    Benchmark(
      workload.title,
      configuration: .init(
        metrics: [.wallClock, .cpuTotal, .throughput, .peakMemoryResident],
        tags: ["operations": "\(workload.repetitions)"], warmupIterations: 2,
        maxDuration: .seconds(2), maxIterations: 2000)
    ) { benchmark in
      let run = try await workload.prepare(.full)
      for _ in benchmark.scaledIterations { blackHole(try await run().value) }
    }
  }
}
