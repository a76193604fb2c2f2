// swift-tools-version: 6.2
import CompilerPluginSupport
import PackageDescription

// A trait, and what a target depends on only with it.
struct Trait {
  let name: String

  func product(_ product: String, of package: String) -> Target.Dependency {
    .product(name: product, package: package, condition: .when(traits: [name]))
  }

  func target(_ target: String) -> Target.Dependency {
    .target(name: target, condition: .when(traits: [name]))
  }
}

let tools = Trait(name: "Tools")
let service = Trait(name: "Service")
let server = Trait(name: "Server")
let postgres = Trait(name: "Postgres")
let macros = Trait(name: "Macros")

let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let deques = Target.Dependency.product(name: "DequeModule", package: "swift-collections")

// Async functions run where their caller does: users' types need not be Sendable, and a result of typed operations
// changes on the main actor if the query was run there.
let callersIsolation = [SwiftSetting.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

// Targets are in layer order, so that this file is the architecture diagram.
let package = Package(
  name: "Hearth",
  products: [
    .library(name: "Hearth", targets: ["Hearth"]),
    .library(name: "FirebaseFirestore", targets: ["FirebaseFirestore"]),
    .library(name: "FirebaseCore", targets: ["FirebaseCore"]),
    .library(name: "FirebaseSharedSwift", targets: ["FirebaseSharedSwift"]),
    .library(name: "ParseSwift", targets: ["ParseSwift"]),
    .library(name: "FirebaseDataConnect", targets: ["FirebaseDataConnect"]),
    .library(name: "HearthDataConnect", targets: ["HearthDataConnect"]),
    .library(name: "HearthTesting", targets: ["HearthTesting"]),
    .library(name: "HearthService", targets: ["HearthService"]),
    .library(name: "HearthServer", targets: ["HearthServer"]),
    .library(name: "HearthMacros", targets: ["HearthMacros"]),
    .executable(name: "hearth", targets: ["HearthCLI"]),
    .executable(name: "hearth-demo", targets: ["HearthDemo"]),
    .plugin(name: "HearthDataConnectPlugin", targets: ["HearthDataConnectPlugin"]),
  ],
  // Off by default: a package that embeds Hearth then resolves none of their dependencies.
  traits: [
    .trait(
      name: "Tools",
      description: "The commands of `hearth`, with their parser of arguments. On for the scripts."),
    .trait(
      name: "Service",
      description: "HearthService: metrics and graceful shutdown, with what they depend on."),
    .trait(
      name: "Server",
      description: "HearthServer: a server for Firestore's clients, with gRPC and Protocol Buffers."
    ),
    .trait(
      name: "Postgres",
      description: "Databases on a PostgreSQL server, with libpq: libpq-dev on Debian."),
    .trait(
      name: "Macros",
      description: "HearthMacros: @Document, which writes direct coding and typed fields."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    // Only with the trait "Tools".
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
    // Only with the traits "Service" and "Server".
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
    // Only with the trait "Service".
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    // Only with the trait "Server".
    .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
    .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
    .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
    .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0"),
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
    // Only with the trait "Macros".
    .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.0"),
  ],
  targets: [
    // Layer 0: the C libraries, as Debian ships them.
    .systemLibrary(
      name: "CLMDB", pkgConfig: "lmdb", providers: [.apt(["liblmdb-dev"])]),
    .systemLibrary(
      name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
    // Only with the trait "Postgres".
    .systemLibrary(name: "CPostgres", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

    // Layer 1: text in, text out, without a database: JSON, times, literals, digits, similar names.
    .target(name: "HearthText"),
    // Regular expressions, and words with their stems: what is found in texts.
    .target(name: "HearthPatterns", dependencies: ["HearthText"]),
    // Regions of the globe, and the cells that cover them.
    .target(name: "HearthGeometry"),
    // Safe, concrete Swift over the C library; bytes in, bytes out.
    .target(name: "LMDB", dependencies: ["CLMDB"]),

    // Layer 2: the embedded database, and the interface for any other document store.
    .target(
      name: "HearthEngine",
      dependencies: [
        "LMDB", "CXXHash", "HearthText", "HearthPatterns", "HearthGeometry", deques, logging,
      ],
      swiftSettings: callersIsolation),

    // The tables of a server, for the engine's backend of remote stores.
    .target(
      name: "HearthPostgres",
      dependencies: ["HearthEngine", postgres.target("CPostgres"), deques, logging]),

    // Layer 3: the public API. It knows no storage.
    .target(
      name: "Hearth",
      dependencies: [
        "HearthEngine", "HearthText", "HearthGeometry", postgres.target("HearthPostgres"), deques,
        logging,
      ],
      swiftSettings: callersIsolation),

    // The top layer: drop-in module names, helpers for users' tests, and the command line.
    .target(name: "FirebaseCore", dependencies: ["Hearth"]),
    .target(name: "FirebaseSharedSwift", dependencies: ["Hearth"]),
    .target(name: "FirebaseFirestore", dependencies: ["Hearth", "FirebaseCore"]),
    .target(
      name: "ParseSwift",
      dependencies: ["Hearth", logging],
      swiftSettings: callersIsolation),
    // Typed operations: the compiled form, its expressions, and what executes it.
    .target(name: "HearthCEL", dependencies: ["HearthText"]),
    .target(name: "DataConnectModel"),
    .target(
      name: "FirebaseDataConnect",
      dependencies: [
        "Hearth", "FirebaseCore", "HearthCEL", "HearthText", "DataConnectModel", logging,
      ],
      swiftSettings: callersIsolation),
    .target(
      name: "HearthDataConnect",
      dependencies: [
        "DataConnectModel", "HearthCEL", "HearthText", tools.product("Yams", of: "Yams"),
      ]),
    .target(
      name: "HearthTesting", dependencies: ["Hearth"],
      swiftSettings: callersIsolation),
    .target(
      name: "HearthService",
      dependencies: [
        "Hearth", service.product("CoreMetrics", of: "swift-metrics"),
        service.product("ServiceLifecycle", of: "swift-service-lifecycle"),
      ]),
    // The messages and services of google.firestore.v1, and what serves them from a backend.
    .target(
      name: "FirestoreProtocol",
      dependencies: [
        server.product("SwiftProtobuf", of: "swift-protobuf"),
        server.product("GRPCCore", of: "grpc-swift-2"),
        server.product("GRPCProtobuf", of: "grpc-swift-protobuf"),
      ],
      exclude: ["Protos"]),
    .target(
      name: "HearthServer",
      dependencies: [
        "HearthEngine", "HearthText", "FirestoreProtocol", postgres.target("HearthPostgres"),
        server.product("GRPCNIOTransportHTTP2Posix", of: "grpc-swift-nio-transport"),
        server.product("CoreMetrics", of: "swift-metrics"),
        server.product("NIOCore", of: "swift-nio"), server.product("NIOHTTP1", of: "swift-nio"),
        server.product("NIOPosix", of: "swift-nio"),
        server.product("NIOHTTP2", of: "swift-nio-http2"),
        server.product("NIOCertificateReloading", of: "swift-nio-extras"),
        server.product("Crypto", of: "swift-crypto"),
        server.product("CryptoExtras", of: "swift-crypto"), server.product("JWTKit", of: "jwt-kit"),
      ]),
    .macro(
      name: "HearthMacrosPlugin",
      dependencies: [
        macros.product("SwiftCompilerPlugin", of: "swift-syntax"),
        macros.product("SwiftSyntaxMacros", of: "swift-syntax"),
      ]),
    .target(name: "HearthMacros", dependencies: ["Hearth", "HearthMacrosPlugin"]),
    // What programs on a terminal share: `hearth-demo`, which needs no trait, and `hearth`.
    .target(name: "HearthTerminal", dependencies: ["Hearth", "HearthText"]),
    .executableTarget(
      name: "HearthDemo", dependencies: ["Hearth", "HearthTerminal", "HearthText"]),
    .executableTarget(
      name: "HearthCLI",
      dependencies: [
        "Hearth", "HearthTerminal", "HearthText", "ParseSwift", "FirebaseDataConnect",
        "HearthDataConnect", "DataConnectModel", server.target("HearthServer"), logging,
        tools.product("ArgumentParser", of: "swift-argument-parser"),
      ]),

    // Runs `hearth dataconnect sdk generate`, which needs the trait "Tools".
    .plugin(
      name: "HearthDataConnectPlugin",
      capability: .command(
        intent: .custom(
          verb: "dataconnect-sdk-generate",
          description: "Generate the Swift packages that connector.yaml asks for."),
        permissions: [
          .writeToPackageDirectory(reason: "The generated packages are files of the package.")
        ]),
      path: "Sources/HearthDataConnectPlugin"),

    // Helper processes for the tests in `LMDBTests` and `HearthProcessTests`.
    .executableTarget(
      name: "lmdb-test-helper", dependencies: ["LMDB", "CLMDB"],
      path: "Tests/Helpers/LMDBTestHelper"),
    .target(name: "CStorageSpy", path: "Tests/Helpers/CStorageSpy"),
    .target(name: "CompilerCheck", path: "Tests/Helpers/CompilerCheck"),
    .target(
      name: "TestSupport", dependencies: ["HearthEngine"], path: "Tests/Helpers/TestSupport"),
    .target(name: "ProcessorTime", path: "Tests/Helpers/ProcessorTime"),
    // Only with the trait "Postgres".
    .target(
      name: "PostgresTestServer",
      dependencies: [postgres.target("HearthPostgres")],
      path: "Tests/Helpers/PostgresTestServer"),
    // The reference: another store for the same tests, which looks at every document for every answer.
    .target(name: "CReferenceStart", path: "Tests/Helpers/CReferenceStart"),
    .target(
      name: "HearthReference",
      dependencies: [
        "HearthEngine", "HearthGeometry", "HearthPatterns", "CReferenceStart", logging,
        postgres.target("HearthPostgres"),
      ],
      path: "Tests/Reference"),
    .executableTarget(
      name: "hearth-test-helper",
      dependencies: [
        "Hearth", "HearthEngine", "LMDB", "CStorageSpy", "ParseSwift", "FirebaseDataConnect",
        "DataConnectModel",
      ],
      path: "Tests/Helpers/HearthTestHelper"),
    // Calls with lists of any length, which `hearth-growth` measures.
    .target(
      name: "GrowthRoutes", dependencies: ["Hearth", "HearthTesting", "ParseSwift"],
      path: "Tests/Helpers/GrowthRoutes"),
    .target(name: "InstructionCounting", path: "Benchmarks/Sources/Counting"),
    .executableTarget(
      name: "hearth-growth",
      dependencies: ["GrowthRoutes", "InstructionCounting", "ProcessorTime"],
      path: "Tests/Helpers/HearthGrowth"),
    .testTarget(
      name: "LMDBTests", dependencies: ["LMDB", "CLMDB", "TestSupport", "lmdb-test-helper"]),
    .testTarget(
      name: "FirebaseFirestoreTests",
      dependencies: ["FirebaseFirestore", "FirebaseCore", "TestSupport"]),
    .testTarget(
      name: "HearthProcessTests",
      dependencies: [
        "Hearth", "HearthEngine", "LMDB", "FirebaseDataConnect", "HearthDataConnect", "Movies",
        "HearthCLI", "PostgresTestServer", "TestSupport", "hearth-test-helper",
      ]),
    .testTarget(
      name: "HearthTests",
      dependencies: [
        "Hearth", "HearthEngine", "HearthTesting", "FirebaseFirestore", "FirebaseCore",
        "FirebaseSharedSwift", "CompilerCheck", "GrowthRoutes", "HearthGeometry", "HearthPatterns",
        "HearthReference", "HearthText", "ProcessorTime", "TestSupport",
        macros.target("HearthMacros"),
      ],
      resources: [.copy("Resources")]),
    .testTarget(
      name: "HearthTextTests", dependencies: ["HearthText", "ProcessorTime", "TestSupport"]),
    .testTarget(
      name: "HearthPatternsTests",
      dependencies: ["HearthPatterns", "ProcessorTime", "TestSupport"],
      resources: [.copy("Resources")]),
    .testTarget(name: "HearthGeometryTests", dependencies: ["HearthGeometry", "TestSupport"]),
    .testTarget(name: "HearthCELTests", dependencies: ["HearthCEL", "HearthText", "TestSupport"]),
    .testTarget(
      name: "HearthDataConnectTests",
      dependencies: ["HearthDataConnect", "DataConnectModel", "ProcessorTime", "TestSupport"]),
    // Generated packages, as their users compile them.
    .target(
      name: "Movies", dependencies: ["FirebaseDataConnect", "FirebaseCore"],
      path: "Tests/Fixtures/DataConnect/generated/Movies/Sources",
      swiftSettings: callersIsolation),
    .target(
      name: "CinemaKit", dependencies: ["FirebaseDataConnect", "FirebaseCore"],
      path: "Tests/Fixtures/DataConnect/generated/CinemaKit/Sources",
      swiftSettings: callersIsolation),
    .testTarget(
      name: "FirebaseDataConnectTests",
      dependencies: [
        "FirebaseDataConnect", "FirebaseCore", "HearthDataConnect", "DataConnectModel", "Hearth",
        "HearthTesting", "HearthText", "Movies", "CinemaKit", "ProcessorTime", "TestSupport",
        "hearth-test-helper",
      ], exclude: ["criteria.json"]),
    .testTarget(
      name: "ParseSwiftTests",
      dependencies: [
        "CompilerCheck", "ParseSwift", "Hearth", "HearthTesting", "ProcessorTime", "TestSupport",
        macros.target("HearthMacros"),
      ],
      // The criteria's tests are looked up in the sources.
      exclude: ["criteria.json"]),
    .testTarget(
      name: "HearthTestingTests",
      dependencies: ["HearthTesting", "FirebaseFirestore", "TestSupport"]),
    .testTarget(
      name: "HearthServiceTests",
      dependencies: [
        "HearthService", "TestSupport", service.product("MetricsTestKit", of: "swift-metrics"),
      ]),
    .testTarget(
      name: "HearthMacrosTests",
      dependencies: [
        "Hearth", "HearthEngine", "HearthTesting", "CompilerCheck", "TestSupport",
        macros.target("HearthMacros"),
      ]),
    .testTarget(
      name: "HearthServerTests",
      dependencies: [
        "HearthServer", "Hearth", "HearthEngine", "HearthText", "FirestoreProtocol", "HearthCLI",
        "PostgresTestServer", "TestSupport",
        server.product("GRPCNIOTransportHTTP2Posix", of: "grpc-swift-nio-transport"),
        server.product("MetricsTestKit", of: "swift-metrics"),
        server.product("NIOEmbedded", of: "swift-nio"),
        server.product("NIOHTTP2", of: "swift-nio-http2"),
        server.product("NIOPosix", of: "swift-nio"), server.product("JWTKit", of: "jwt-kit"),
      ],
      // Scripts in other languages.
      exclude: ["Clients"]),
    .testTarget(
      name: "HearthPostgresTests",
      dependencies: [
        "Hearth", "HearthEngine", "HearthPostgres", "HearthReference", "PostgresTestServer",
        "TestSupport",
      ],
      // A script, which starts several servers.
      exclude: ["Cluster"]),
    .testTarget(
      name: "HearthCLITests",
      dependencies: [
        "HearthCLI", "HearthDemo", "Hearth", "HearthTerminal", "HearthText", "PostgresTestServer",
        "TestSupport",
      ]),
  ],
  swiftLanguageModes: [.v6]
)

// `.ci/run` sets it: tests then take half the time, and try the engine as it ships, with its assertions, and so
// the modules below it.
if Context.environment["HEARTH_OPTIMIZED_ENGINE"] != nil {
  let flags = ["-O", "-whole-module-optimization", "-num-threads", "2", "-assert-config", "Debug"]
  let names: Set = ["HearthEngine", "HearthText", "HearthPatterns", "HearthGeometry"]
  for target in package.targets where names.contains(target.name) {
    target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(flags)]
  }
}
