import Foundation

/// A named set of options. Databases of different apps are separate.
///
///     FirebaseApp.configure()
///     let db = Firestore.firestore()
///
/// There is no service behind an app: it only keeps databases apart. Configuring a name again keeps
/// the first app.
public final class FirebaseApp: NSObject, Sendable {
  /// The app's name.
  public let name: String
  // Unchecked: a copy that is only read.
  private nonisolated(unsafe) let stored: FirebaseOptions

  /// A copy of the app's options: changing it does not change the app.
  public var options: FirebaseOptions { stored.copied() }

  private init(name: String, options: FirebaseOptions) {
    self.name = name
    stored = options.copied()
  }

  private static let apps = Guarded<[BytewiseString: FirebaseApp]>([:])
  private static let defaultName = "__FIRAPP_DEFAULT"
  static let unconfigured = FirebaseApp(name: defaultName, options: FirebaseOptions())

  /// Creates the default app, `__FIRAPP_DEFAULT`, with default options. See `configure(options:)`.
  public class func configure() { configure(options: FirebaseOptions()) }

  /// Creates the default app, `__FIRAPP_DEFAULT`, with options. If it exists, it stays unchanged.
  public class func configure(options: FirebaseOptions) {
    configure(name: defaultName, options: options)
  }

  /// Creates an app. If an app of that name exists, it stays unchanged.
  public class func configure(name: String, options: FirebaseOptions) {
    let app = FirebaseApp(name: name, options: options)
    apps.withLock { apps in
      if apps[BytewiseString(name)] == nil { apps[BytewiseString(name)] = app }
    }
  }

  /// The default app. Nil if it is not configured.
  public class func app() -> FirebaseApp? { app(name: defaultName) }

  /// The app with this name. Nil if it is not configured.
  public class func app(name: String) -> FirebaseApp? {
    apps.withLock { $0[BytewiseString(name)] }
  }

  /// All apps by name; nil if there are none. If two names are one `String` to Swift with different
  /// bytes, only the app whose name is first by bytes is included.
  public class var allApps: [String: FirebaseApp]? {
    let apps = apps.withLock { $0 }
    guard !apps.isEmpty else { return nil }
    let sorted = apps.sorted { $0.key < $1.key }.map { ($0.key.string, $0.value) }
    return Dictionary(sorted, uniquingKeysWith: { first, _ in first })
  }

  /// Removes the app and terminates its databases. A new app of that name gets new databases.
  ///
  /// Calls `completion` before it returns, as Firebase's SDK does; from then on the databases
  /// refuse every call. They complete pending operations and close their files in the background.
  /// `delete() async` waits for that. The result is false if the app was already deleted. Databases
  /// opened by a path (`Firestore.open(at:)`) belong to no app and stay open.
  public func delete(_ completion: @escaping (Bool) -> Void) {
    let databases = forget()
    completion(databases != nil)
    guard let databases else { return }
    Task { await Self.close(databases) }
  }

  /// Removes the app and terminates its databases. A new app of that name gets new databases.
  ///
  /// Returns when the databases are closed; see `Firestore.terminate()`. The result is false if the
  /// app was already deleted. Databases opened by a path (`Firestore.open(at:)`) belong to no app
  /// and stay open.
  @discardableResult
  public func delete() async -> Bool {
    guard let databases = forget() else { return false }
    await Self.close(databases)
    return true
  }

  /// Removes the app and returns its databases, which refuse every call from now on. Nil if the app
  /// was already deleted.
  private func forget() -> [Firestore]? {
    let isFound = FirebaseApp.apps.withLock { apps in
      guard apps[BytewiseString(name)] === self else { return false }
      apps[BytewiseString(name)] = nil
      return true
    }
    guard isFound else { return nil }
    let databases = OpenDatabases.shared.instances(of: self)
    for database in databases { database.retire() }
    return databases
  }

  private static func close(_ databases: [Firestore]) async {
    await withTaskGroup { group in
      for database in databases { group.addTask { try? await database.terminate() } }
    }
  }

  public override var description: String { "<FirebaseApp: \(name)>" }
}

/// An app's identifiers for Firebase's services. There are no services here: the options are kept,
/// and read from a file, for source compatibility. Only `projectID` has an effect: databases of
/// different projects do not store each other's references.
public final class FirebaseOptions: NSObject, NSCopying {
  /// The id of the app, `GOOGLE_APP_ID` in the file. Only kept.
  public var googleAppID = ""
  /// The id for push messages, `GCM_SENDER_ID` in the file. Only kept.
  public var gcmSenderID = ""
  /// The id of the app's bundle, `BUNDLE_ID` in the file. Only kept.
  public var bundleID = ""
  /// The key for Google's services, `API_KEY` in the file. Only kept.
  public var apiKey: String?
  /// The id for signing in with Google, `CLIENT_ID` in the file. Only kept.
  public var clientID: String?
  /// The id of the project, `PROJECT_ID` in the file. Part of the identity of the app's databases: one
  /// database does not store references of another. The app's name is used if it is nil.
  public var projectID: String?
  /// The address of a Realtime Database, `DATABASE_URL` in the file. Only kept.
  public var databaseURL: String?
  /// The name of a storage bucket, `STORAGE_BUCKET` in the file. Only kept.
  public var storageBucket: String?
  /// The id of a group of apps. Only kept.
  public var appGroupID: String?

  private static let properties: [ObjectProperty<FirebaseOptions>] = [
    .init(\.googleAppID), .init(\.gcmSenderID), .init(\.bundleID), .init(\.apiKey),
    .init(\.clientID), .init(\.projectID), .init(\.databaseURL), .init(\.storageBucket),
    .init(\.appGroupID),
  ]

  /// Creates empty options.
  public override init() {}

  /// Creates options with two identifiers, which have no effect here.
  public convenience init(googleAppID: String, gcmSenderID: String) {
    self.init()
    self.googleAppID = googleAppID
    self.gcmSenderID = gcmSenderID
  }

  /// Reads a `GoogleService-Info.plist`. Nil if the file is missing, is not a property list, or has
  /// no `GOOGLE_APP_ID`.
  public convenience init?(contentsOfFile path: String) {
    guard let data = FileManager.default.contents(atPath: path),
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
      let entries = list as? [String: Any],
      let appID = entries["GOOGLE_APP_ID"] as? String
    else { return nil }
    self.init(googleAppID: appID, gcmSenderID: entries["GCM_SENDER_ID"] as? String ?? "")
    bundleID = entries["BUNDLE_ID"] as? String ?? ""
    apiKey = entries["API_KEY"] as? String
    clientID = entries["CLIENT_ID"] as? String
    projectID = entries["PROJECT_ID"] as? String
    databaseURL = entries["DATABASE_URL"] as? String
    storageBucket = entries["STORAGE_BUCKET"] as? String
  }

  public func copy(with zone: NSZone? = nil) -> Any { copied() }

  func copied() -> FirebaseOptions {
    let copy = FirebaseOptions()
    for property in Self.properties { property.copy(self, copy) }
    return copy
  }

  /// Whether the other object has the same options.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FirebaseOptions else { return false }
    return Self.properties.allSatisfy { $0.isEqual(self, other) }
  }

  public override var hash: Int { [googleAppID, projectID].hashValue }
}
