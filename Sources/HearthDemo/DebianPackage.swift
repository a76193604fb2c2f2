import Foundation

/// A package of Debian's index, with parsed dependencies.
struct DebianPackage: DemoRecord {
  var name: String
  var version: String
  var architecture: String
  var section: String
  var priority: String?
  var source: String?
  var summary: String
  var maintainer: Maintainer?
  var homepage: URL?
  var installedKilobytes: Int?
  var downloadBytes: Int?
  var isEssential: Bool?
  var tags: [String]
  var dependencies: [Dependency]

  struct Maintainer: Codable, Hashable, Sendable {
    var name: String
    var email: String?
  }

  /// `libfoo (>= 1.2) | libbar`: either package satisfies it.
  struct Dependency: Codable, Hashable, Sendable {
    var name: String
    var relation: String?
    var version: String?
    var alternatives: [Dependency]?
  }

  static let collection = "packages"
  var documentID: String { name }
  var line: String {
    "\(name) \(version) (\(section), \(dependencies.count) dependencies): \(summary)"
  }
}

// MARK: - From the index

extension DebianPackage {
  init?(_ stanza: Stanza) {
    guard let name = stanza["Package"], let version = stanza["Version"] else { return nil }
    self.name = name
    self.version = version
    architecture = stanza["Architecture"] ?? "all"
    section = stanza["Section"] ?? "misc"
    priority = stanza["Priority"]
    source = stanza["Source"]
    summary = stanza["Description"] ?? ""
    maintainer = stanza["Maintainer"].map(Maintainer.init)
    homepage = stanza["Homepage"].flatMap(URL.init(string:))
    installedKilobytes = stanza["Installed-Size"].flatMap { Int($0) }
    downloadBytes = stanza["Size"].flatMap { Int($0) }
    isEssential = stanza["Essential"].map { $0 == "yes" }
    tags = stanza["Tag"].map { $0.parts(",") } ?? []
    dependencies =
      stanza["Depends"].map { $0.parts(",").compactMap(Dependency.init(choices:)) } ?? []
  }
}

extension DebianPackage.Maintainer {
  /// `Debian Games Team <games@example.org>`
  init(_ text: String) {
    let parts = text.utf8Split("<", maxSplits: 1)
    name = parts.first.map { $0.trimmed } ?? text
    email = parts.count == 2 ? parts[1].utf8Split(">").first.map { $0.trimmed } : nil
  }
}

extension DebianPackage.Dependency {
  init?(choices text: String) {
    let choices = text.parts("|").compactMap(Self.init(choice:))
    guard let first = choices.first else { return nil }
    self = first
    if choices.count > 1 { alternatives = Array(choices.dropFirst()) }
  }

  /// `libc6 (>= 2.34)`
  private init?(choice text: String) {
    let parts = text.utf8Split("(", maxSplits: 1)
    guard let first = parts.first else { return nil }
    name = first.trimmed
    guard parts.count == 2 else { return }
    let words = parts[1].utf8Split(" ")
    guard words.count == 2 else { return }
    relation = String(words[0])
    version = words[1].utf8Split(")").first.map(String.init)
  }
}

/// Uses bytes: the separators are ASCII, and iterating over `Character`s would take most of the
/// import's time.
extension StringProtocol where SubSequence == Substring {
  fileprivate var trimmed: String {
    let space = UInt8(ascii: " ")
    var rest = self[...].utf8.drop { $0 == space }
    while rest.last == space { rest.removeLast() }
    return String(Substring(rest))
  }

  fileprivate func parts(_ separator: Unicode.Scalar) -> [String] {
    utf8Split(separator).map(\.trimmed).filter { !$0.isEmpty }
  }

  fileprivate func utf8Split(_ separator: Unicode.Scalar, maxSplits: Int = .max) -> [Substring] {
    self[...].utf8.split(separator: UInt8(ascii: separator), maxSplits: maxSplits)
      .map { Substring($0) }
  }
}
