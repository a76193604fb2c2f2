extension SwiftGenerator {
  func manifest(header: String) -> String {
    let name = SwiftNames.literal(settings.package)
    let identity = SwiftNames.literal(settings.runtime.identity)
    let platforms =
      switch settings.observablePublisher {
      case .observableMacro: "[.iOS(.v17), .macOS(.v14), .tvOS(.v17), .watchOS(.v10)]"
      case .observableObject: "[.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8)]"
      }
    let dependency =
      switch settings.runtime {
      case .path(let path): ".package(path: \(SwiftNames.literal(path)))"
      case .repository(let url, nil):
        ".package(url: \(SwiftNames.literal(url)), branch: \"main\")"
      case .repository(let url, let version?):
        ".package(url: \(SwiftNames.literal(url)), from: \(SwiftNames.literal(version)))"
      }
    return """
      // swift-tools-version: 6.2
      // \(header)

      import PackageDescription

      let package = Package(
        name: \(name),
        platforms: \(platforms),
        products: [
          .library(name: \(name), targets: [\(name)])
        ],
        dependencies: [
          \(dependency)
        ],
        targets: [
          .target(
            name: \(name),
            dependencies: [
              .product(name: "FirebaseCore", package: \(identity)),
              .product(name: "FirebaseDataConnect", package: \(identity)),
            ],
            path: "Sources",
            swiftSettings: [
              // Async functions run where their caller does: closures need not be Sendable.
              .enableUpcomingFeature("NonisolatedNonsendingByDefault")
            ])
        ],
        swiftLanguageModes: [.v6]
      )

      """
  }
}
