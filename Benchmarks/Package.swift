// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "Benchmarks",
  dependencies: [
    .package(name: "Hearth", path: ".."),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    // The floor we stand on: LMDB's own calls, from C.
    .target(name: "RawLMDB", linkerSettings: [.linkedLibrary("lmdb")]),
    .executableTarget(
      name: "FirstFigures",
      dependencies: ["RawLMDB", .product(name: "Hearth", package: "Hearth")]),
    .executableTarget(
      name: "QueryFigures",
      dependencies: [
        .product(name: "Hearth", package: "Hearth"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
