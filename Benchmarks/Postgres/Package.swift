// swift-tools-version: 6.2
import PackageDescription

// A package of its own: the others need no libpq.
let package = Package(
  name: "PostgresFigures",
  dependencies: [.package(name: "Hearth", path: "../..", traits: ["Postgres"])],
  targets: [
    .systemLibrary(
      name: "CLibpq", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
    .executableTarget(
      name: "PostgresFigures",
      dependencies: ["CLibpq", .product(name: "Hearth", package: "Hearth")]),
  ],
  swiftLanguageModes: [.v6]
)
