// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "InProcess",
  dependencies: [.package(name: "Hearth", path: "../..")],
  targets: [
    .executableTarget(
      name: "InProcess", dependencies: [.product(name: "Hearth", package: "Hearth")])
  ],
  swiftLanguageModes: [.v6]
)
