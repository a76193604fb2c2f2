extension EmbeddedBackend {
  /// The care of files that this process has not open as a database: looking at them, and making new ones.
  ///
  /// What is made takes its place in one moment, once it is whole and checked. Each piece of work runs on a thread of its
  /// own, and ends early with `CancellationError` when its task is cancelled.
  package struct FileMaintenance: Sendable {
    private let configuration: StoreConfiguration

    package init(_ settings: EmbeddedBackend.Settings) {
      configuration = settings.storeConfiguration
    }

    package func check(at path: String, _ progress: MaintenanceHandler?) async throws -> CheckReport
    {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try FileCheck.run(at: path, configuration, progress: progress)
      }
    }

    /// The file as small as it can be, in its own place; its size before and after.
    package func compact(
      at path: String, _ progress: MaintenanceHandler?
    ) async throws -> (bytesBefore: Int, bytesAfter: Int) {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        let (before, after) = try FileCopy.compact(at: path, configuration, progress: progress)
        return (before.fileBytes, after.fileBytes)
      }
    }

    package func restore(
      _ backup: String, to path: String, _ progress: MaintenanceHandler?
    ) async throws -> CheckReport {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try FileCopy.restore(backup, to: path, configuration, progress: progress)
      }
    }

    package func repair(
      at path: String, to target: String, _ progress: MaintenanceHandler?
    ) async throws -> RepairReport {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try FileRepair.run(from: path, to: target, configuration, progress: progress)
      }
    }

    /// A new database of an export.
    package func importDocuments(
      from path: String, toNew target: String, keepingTimes: Bool, skippingFaults: Bool,
      _ progress: MaintenanceHandler?
    ) async throws -> ImportReport {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try DocumentImport.build(
          from: path, to: target, configuration, keepingTimes: keepingTimes,
          skippingFaults: skippingFaults, progress: progress
        ).told
      }
    }
  }
}
