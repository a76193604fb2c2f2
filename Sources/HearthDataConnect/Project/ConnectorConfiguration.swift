/// A connector: the contents of `connector.yaml`.
///
///     connectorId: movies
///     generate:
///       swiftSdk:
///         outputDir: ../movies-generated
///         package: Movies
///         clientCache: { maxAge: 5s, storage: memory }
///
/// Blocks for other languages are accepted, and have no effect.
public struct ConnectorConfiguration: Hashable, Sendable {
  /// `connector.yaml`
  public static let fileName = "connector.yaml"
  /// The name of a package without one.
  public static let defaultPackage = "DataConnectGenerated"

  /// Letters, digits, `-` and `_`: it becomes a name in Swift.
  public var connectorID: String
  /// One for each package: `swiftSdk` is a mapping or a list of them.
  public var swiftSDKs: [SwiftSDK]

  /// A `swiftSdk` block. Its paths are relative to the folder of the file.
  public struct SwiftSDK: Hashable, Sendable {
    /// `outputDir`, relative to the folder of the file. By default the folder of the connector.
    public var outputFolder: String
    /// The name of the package, and of the folder with it.
    public var package: String
    /// `observablePublisher`. `observableMacro` by default.
    public var observablePublisher: SwiftSDKSettings.ObservablePublisher
    /// `clientCache`. Nil if it is absent: no cache.
    public var clientCache: SwiftSDKSettings.ClientCache?
    /// `coreSdkPackageLocation`: the package with the runtime, a folder or a URL. Nil if it is
    /// absent: a folder `hearth` beside the project's.
    public var runtimeLocation: String?
    /// `coreSdkPackageVersion`: the version at a URL. Nil if it is absent: the branch `main`.
    public var runtimeVersion: String?
    /// The line at which the block begins in the file, from 1.
    public var line: Int
    /// The column at which the block begins in the file, from 1.
    public var column: Int
  }

  init(_ root: YAMLNode, reader: inout YAMLReader) {
    connectorID = ""
    swiftSDKs = []
    guard reader.isMapping(root, Self.fileName, known: ["authMode", "connectorId", "generate"])
    else { return }
    connectorID = reader.string("connectorId", of: root, isRequired: true) ?? ""
    if !connectorID.isEmpty, let node = root["connectorId"],
      let problem = Self.problem(ofConnectorID: connectorID)
    {
      reader.report(problem, at: node)
    }
    let languages = [
      "adminNodeSdk", "dartSdk", "javascriptSdk", "kotlinSdk", "llmTools", "swiftSdk",
    ]
    guard let generate = root["generate"], !generate.isNull,
      reader.isMapping(generate, "generate", known: languages),
      let blocks = generate["swiftSdk"], !blocks.isNull
    else { return }
    for block in reader.elements(of: blocks) {
      if let sdk = SwiftSDK(block, reader: &reader) { swiftSDKs.append(sdk) }
    }
  }
}

extension ConnectorConfiguration {
  /// Why the text cannot be a `connectorId`, as a sentence; nil if it can.
  public static func problem(ofConnectorID id: String) -> String? {
    isName(id) && id.contains(where: \.isLetter)
      ? nil : "connectorId has letters, digits, - and _ only, and at least one letter."
  }

  /// Why the text cannot be the `package` of a `swiftSdk`, as a sentence; nil if it can. A package is
  /// imported by its name, with `_` for `-`.
  public static func problem(ofPackage name: String) -> String? {
    guard isName(name), !name.isEmpty else {
      return "package has letters, digits, - and _ only. Its folder is given by outputDir."
    }
    let module = name.replacingOccurrences(of: "-", with: "_")
    guard module.first?.isNumber == false, module.contains(where: \.isLetter),
      !SwiftNames.keywords.contains(module)
    else {
      return
        "No program can import a package named \(name): a name begins with a letter or _, and is "
        + "not a keyword of Swift. Choose another, such as \(SwiftNames.upperCamel(name))Data."
    }
    guard !SwiftNames.takenModules.contains(module.lowercased()) else {
      return
        "\(name) is the name of a module that the package or its programs import. Choose another, "
        + "such as \(SwiftNames.upperCamel(name))Data."
    }
    return nil
  }

  /// Whether the text has letters of English, digits, `-` and `_` only.
  static func isName(_ text: String) -> Bool {
    text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
  }
}

extension ConnectorConfiguration.SwiftSDK {
  init?(_ node: YAMLNode, reader: inout YAMLReader) {
    let known = [
      "clientCache", "coreSdkPackageLocation", "coreSdkPackageVersion", "observablePublisher",
      "outputDir", "package",
    ]
    guard reader.isMapping(node, "swiftSdk", known: known) else { return nil }
    outputFolder = reader.string("outputDir", of: node) ?? "."
    package = reader.string("package", of: node) ?? ConnectorConfiguration.defaultPackage
    if let problem = ConnectorConfiguration.problem(ofPackage: package), let value = node["package"]
    {
      reader.report(problem, at: value)
    }
    observablePublisher =
      reader.choice(
        "observablePublisher", of: node, SwiftSDKSettings.ObservablePublisher.self)
      ?? .observableMacro
    runtimeLocation = reader.string("coreSdkPackageLocation", of: node)
    runtimeVersion = reader.string("coreSdkPackageVersion", of: node)
    line = node.line
    column = node.column
    guard let cache = node["clientCache"] else { return }
    // `clientCache:` and `clientCache: {}` turn it on.
    clientCache = SwiftSDKSettings.ClientCache()
    guard !cache.isNull,
      reader.isMapping(cache, "clientCache", known: ["maxAge", "maxSize", "storage"])
    else { return }
    let storage = reader.choice("storage", of: cache, SwiftSDKSettings.ClientCache.Storage.self)
    var seconds = 0.0
    if let text = reader.string("maxAge", of: cache), let value = cache["maxAge"] {
      if let duration = Self.seconds(text) {
        seconds = duration
      } else {
        reader.report("maxAge is a duration such as 5s, 5m or 1h, not \"\(text)\".", at: value)
      }
    }
    clientCache = .init(storage: storage ?? .persistent, maxAgeSeconds: seconds)
  }

  /// `5s`, `5m`, `1h`, `1d`, `500ms`, `1.5h`; a number is in seconds. Nil for another text.
  static func seconds(_ text: String) -> Double? {
    let units: [(String, Double)] = [
      ("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("", 1),
    ]
    for (unit, factor) in units where text.hasSuffix(unit) {
      let number = text.dropLast(unit.count)
      guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
        let value = Double(number), value.isFinite
      else { return nil }
      return value * factor
    }
    return nil
  }
}
