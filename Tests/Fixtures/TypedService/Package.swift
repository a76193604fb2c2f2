// swift-tools-version: 6.2
import PackageDescription

// A service with typed models: two traits.
let package = Package(
  name: "TypedService",
  dependencies: [
    .package(name: "Hearth", path: "../../..", traits: ["Service", "Macros"])
  ],
  targets: [
    .executableTarget(
      name: "TypedService",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Hearth"),
        .product(name: "HearthMacros", package: "Hearth"),
        .product(name: "HearthService", package: "Hearth"),
      ])
  ],
  swiftLanguageModes: [.v6]
)
