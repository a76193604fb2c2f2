// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "Hearth", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    // The floor we stand on: LMDB's own calls, from C.
    .target(name: "RawLMDB", linkerSettings: [.linkedLibrary("lmdb")]),
    .target(name: "Comparisons"),
    .executableTarget(
      name: "FirstFigures",
      dependencies: ["Comparisons", "RawLMDB", .product(name: "Hearth", package: "Hearth")]),
    .executableTarget(
      name: "WritingFigures",
      dependencies: [
        "Comparisons", "RawLMDB", .product(name: "Hearth", package: "Hearth"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
