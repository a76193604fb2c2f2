import Foundation
import PackagePlugin

/// `hearth dataconnect sdk generate`, as a command of SwiftPM: in the folder of the package, with the
/// same arguments.
///
///     swift package --allow-writing-to-package-directory dataconnect-sdk-generate
///     swift package --allow-writing-to-package-directory dataconnect-sdk-generate --check
///
/// Builds the tool only then. A dependency of the plugin would be built twice with each package, once
/// for the plugin.
@main
struct HearthDataConnectPlugin: CommandPlugin {
  func performCommand(context: PluginContext, arguments: [String]) async throws {
    let built = try packageManager.build(.product("hearth"), parameters: .init())
    guard built.succeeded,
      let tool = built.builtArtifacts.first(where: { artifact in
        artifact.kind == .executable && artifact.url.lastPathComponent == "hearth"
      })
    else { throw Failure(description: "hearth cannot be built:\n\(built.logText)") }
    let process = Process()
    process.executableURL = tool.url
    process.arguments = ["dataconnect", "sdk", "generate"] + arguments
    process.currentDirectoryURL = context.package.directoryURL
    try process.run()
    process.waitUntilExit()
    guard process.terminationReason == .exit, process.terminationStatus == 0 else {
      throw Failure(description: "The packages are not generated, or not current.")
    }
  }

  private struct Failure: Error, CustomStringConvertible {
    let description: String
  }
}
