// swift-tools-version: 6.2
import PackageDescription

// A service that embeds Hearth and asks for no trait: what it has to fetch is in `checkouts.txt`.
let package = Package(
  name: "Embedder",
  dependencies: [.package(name: "Hearth", path: "../../..")],
  targets: [
    .executableTarget(
      name: "Embedder",
      dependencies: [.product(name: "FirebaseFirestore", package: "Hearth")])
  ],
  swiftLanguageModes: [.v6]
)
