// swift-tools-version: 6.2
import PackageDescription

let hearth = Target.Dependency.product(name: "Hearth", package: "Hearth")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")

func subject(_ name: String) -> Target {
  .executableTarget(
    name: name,
    dependencies: ["Registering", .product(name: "Benchmark", package: "benchmark")],
    path: "Benchmarks/\(name)",
    plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")])
}

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "Hearth", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
  ],
  targets: [
    // The floor we stand on: LMDB's own calls, from C.
    .target(name: "RawLMDB", linkerSettings: [.linkedLibrary("lmdb")]),
    // Counts allocations, and instructions under callgrind.
    .target(name: "Counting"),
    // Counts flushes to disk, by whoever asks for them.
    .target(name: "Flushes"),
    .target(name: "Ratios"),
    .target(name: "Recordings", dependencies: ["RawLMDB"]),

    // What is measured by subject, and tried by the tests. `swift package benchmark` runs it.
    .target(name: "Workloads", dependencies: [hearth]),
    .target(
      name: "Registering",
      dependencies: ["Workloads", .product(name: "Benchmark", package: "benchmark")]),
    .testTarget(name: "WorkloadsTests", dependencies: ["Workloads"]),
    subject("Format"),
    subject("Keys"),
    subject("Coding"),
    subject("Writing"),
    subject("Query"),
    subject("Listening"),
    subject("Opening"),
    subject("Footprint"),

    // One subject each, in depth.
    .executableTarget(name: "FirstFigures", dependencies: ["Ratios", "RawLMDB", hearth]),
    .executableTarget(name: "CodingFigures", dependencies: ["Counting", hearth]),
    .executableTarget(name: "IndexFigures", dependencies: ["Recordings", hearth, grdb]),
    .executableTarget(name: "WritingFigures", dependencies: ["Ratios", "RawLMDB", hearth, grdb]),
    .executableTarget(name: "QueryFigures", dependencies: ["Counting", hearth, grdb]),
    .executableTarget(name: "ListeningFigures", dependencies: [hearth, grdb]),
    .executableTarget(
      name: "JoinFigures",
      dependencies: [
        "Ratios", hearth, grdb, .product(name: "ParseSwift", package: "Hearth"),
        .product(name: "FirebaseDataConnect", package: "Hearth"),
        .product(name: "HearthDataConnect", package: "Hearth"),
      ]),

    // Everybody at the same work.
    .executableTarget(
      name: "Comparisons",
      dependencies: [
        "RawLMDB", "Recordings", "Flushes", "Workloads", hearth, grdb,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Comparisons"),
  ],
  swiftLanguageModes: [.v6]
)
