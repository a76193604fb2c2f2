// swift-tools-version: 6.2
import PackageDescription

// Programs that use Hearth as any other package does. Their dependencies are not those of Hearth.
let package = Package(
  name: "Examples",
  dependencies: [
    .package(name: "Hearth", path: "../..", traits: ["Service"]),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
  ],
  targets: [
    // The README's.
    .executableTarget(
      name: "FirstProgram",
      dependencies: [.product(name: "FirebaseFirestore", package: "Hearth")], path: "FirstProgram"),

    // A web service: pages, a transaction, a live query as server-sent events, graceful shutdown.
    .target(
      name: "Bookshop",
      dependencies: [
        .product(name: "FirebaseFirestore", package: "Hearth"),
        .product(name: "HearthService", package: "Hearth"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "Bookshop"),
    .executableTarget(
      name: "BookshopServer",
      dependencies: [
        "Bookshop", .product(name: "FirebaseFirestore", package: "Hearth"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
      ],
      path: "BookshopServer"),
    .testTarget(
      name: "BookshopTests",
      dependencies: [
        "Bookshop",
        .product(name: "HearthTesting", package: "Hearth"),
        .product(name: "HummingbirdTesting", package: "hummingbird"),
      ],
      path: "Tests/BookshopTests"),

    // The view models of an app, without its views.
    .target(
      name: "ReadingList",
      dependencies: [.product(name: "FirebaseFirestore", package: "Hearth")],
      path: "ReadingList"),
    .testTarget(
      name: "ReadingListTests",
      dependencies: ["ReadingList", .product(name: "HearthTesting", package: "Hearth")],
      path: "Tests/ReadingListTests"),

    // Objects with relations.
    .target(
      name: "Library", dependencies: [.product(name: "ParseSwift", package: "Hearth")],
      path: "Library"),
    .testTarget(
      name: "LibraryTests",
      dependencies: ["Library", .product(name: "HearthTesting", package: "Hearth")],
      path: "Tests/LibraryTests"),

    // Typed operations. `hearth dataconnect sdk generate` makes Movies from the project in MovieShelf.
    .target(
      name: "Movies",
      dependencies: [
        .product(name: "FirebaseCore", package: "Hearth"),
        .product(name: "FirebaseDataConnect", package: "Hearth"),
      ],
      path: "MovieShelf/generated/Movies/Sources",
      swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
    .target(
      name: "MovieShelf", dependencies: ["Movies"], path: "MovieShelf",
      exclude: ["dataconnect", "generated"]),
    .testTarget(
      name: "MovieShelfTests",
      dependencies: ["MovieShelf", .product(name: "HearthTesting", package: "Hearth")],
      path: "Tests/MovieShelfTests"),
  ],
  swiftLanguageModes: [.v6]
)
