import DataConnectModel
import Foundation
import TestSupport
import Testing

@testable import HearthDataConnect

/// Generated packages, compiled as users compile them.
///
/// Slow, so only with HEARTH_GENERATED=1: the runtime is compiled, too. The packages of the fixtures are
/// targets of this one, and always compiled.
@Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment["HEARTH_GENERATED"] == "1"))
struct GeneratedPackageTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = TemporaryFolder()
  }

  private func run(_ arguments: String...) throws -> (status: Int32, output: String) {
    let log = URL(filePath: "\(folder.path)/log")
    try Data().write(to: log)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.currentDirectoryURL = URL(filePath: folder.path)
    let handle = try FileHandle(forWritingTo: log)
    process.standardOutput = handle
    process.standardError = handle
    try process.run()
    process.waitUntilExit()
    return (process.terminationStatus, try String(contentsOf: log, encoding: .utf8))
  }

  private func generate(_ connector: CompiledConnector, package: String) throws {
    let runtime = Connectors.fixtures.appending(path: "../../..").standardizedFileURL.path
    let settings = SwiftSDKSettings(
      package: package, clientCache: .init(storage: .memory, maxAgeSeconds: 1.5),
      runtime: .path(runtime))
    let files = SwiftGenerator(settings: settings).files(for: connector)
    _ = try PackageWriter(folder: "\(folder.path)/\(package)").write(files)
  }

  @Test func `a connector of words of Swift builds without a warning`() throws {
    try generate(Connectors.words(), package: "Words")
    let build = try run(
      "swift", "build", "--package-path", "Words", "-Xswiftc", "-warnings-as-errors")
    #expect(build.status == 0, "\(build.output)")
  }

  @Test func `the files are formatted`() throws {
    try generate(Connectors.compile("movies"), package: "Movies")
    try generate(Connectors.compile("cinema"), package: "CinemaKit")
    try generate(Connectors.words(), package: "Words")
    let configuration = Connectors.fixtures.appending(path: "../../../.swift-format")
      .standardizedFileURL.path
    let lint = try run(
      "swift", "format", "lint", "--strict", "--recursive", "--configuration", configuration,
      "Movies", "CinemaKit", "Words")
    #expect(lint.status == 0, "\(lint.output)")
  }
}
