/// The settings of a generated Swift package: a `swiftSdk` block of `connector.yaml`.
public struct SwiftSDKSettings: Hashable, Sendable {
  /// How queries publish their results.
  public enum ObservablePublisher: String, CaseIterable, Sendable {
    /// `@Observable`: iOS 17, macOS 14, Linux.
    case observableMacro
    /// `ObservableObject`: also iOS 15 and macOS 12. Needs Combine, which Linux does not have.
    case observableObject
  }

  /// A cache of results: `clientCache`.
  public struct ClientCache: Hashable, Sendable {
    /// The place of the cache.
    public enum Storage: String, CaseIterable, Sendable {
      /// Results survive the process.
      case persistent
      /// Results end with the process.
      case memory
    }

    /// The place of the cache. `.persistent` by default.
    public var storage: Storage
    /// The age from which on a result is read from the database again, in seconds. 0 by default.
    public var maxAgeSeconds: Double

    /// Creates settings of a cache. Without an age, results in it are never current.
    public init(storage: Storage = .persistent, maxAgeSeconds: Double = 0) {
      self.storage = storage
      self.maxAgeSeconds = maxAgeSeconds
    }
  }

  /// The package with the runtime, `FirebaseDataConnect`.
  public enum Runtime: Hashable, Sendable {
    /// A folder, relative to the folder of the generated package.
    case path(String)
    /// A repository, from a version or, without one, its branch `main`.
    case repository(url: String, version: String?)
  }

  /// The name of the package, of its product and of its module.
  public var package: String
  /// Decides the platforms of the package. References to queries are `QueryRefObservation` in any case.
  public var observablePublisher: ObservablePublisher
  /// The cache of results. Nil, the default: results are read from the database each time.
  public var clientCache: ClientCache?
  /// The package that the generated one depends on. A folder `hearth` beside the package by
  /// default.
  public var runtime: Runtime

  /// The settings of a package with a name.
  public init(
    package: String, observablePublisher: ObservablePublisher = .observableMacro,
    clientCache: ClientCache? = nil, runtime: Runtime = .path("../hearth")
  ) {
    self.package = package
    self.observablePublisher = observablePublisher
    self.clientCache = clientCache
    self.runtime = runtime
  }
}

extension SwiftSDKSettings.Runtime {
  /// The name by which a manifest refers to the package: the last part of its location.
  var identity: String {
    let location =
      switch self {
      case .path(let path): path
      case .repository(let url, _): url
      }
    let last = location.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? location
    return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
  }
}
