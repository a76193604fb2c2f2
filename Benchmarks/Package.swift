// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "Hearth", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
  ],
  targets: [
    // The floor we stand on: LMDB's own calls, from C.
    .target(name: "RawLMDB", linkerSettings: [.linkedLibrary("lmdb")]),
    .executableTarget(
      name: "FirstFigures",
      dependencies: ["RawLMDB", .product(name: "Hearth", package: "Hearth")]),
    // Counts allocations, and instructions under callgrind.
    .target(name: "Counting"),
    .executableTarget(
      name: "CodingFigures",
      dependencies: ["Counting", .product(name: "Hearth", package: "Hearth")]),
    // Counts flushes to disk, by whoever asks for them.
    .target(name: "Flushes"),
    .executableTarget(
      name: "Comparisons",
      dependencies: [
        "RawLMDB", "Flushes", .product(name: "Hearth", package: "Hearth"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      path: "Comparisons"),
    .executableTarget(
      name: "IndexFigures",
      dependencies: [
        "RawLMDB", .product(name: "Hearth", package: "Hearth"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
