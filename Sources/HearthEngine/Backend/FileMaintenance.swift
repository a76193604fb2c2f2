extension EmbeddedBackend {
  /// Maintenance of files that this process does not have open as a database: checking them, and
  /// making new ones.
  ///
  /// A new file appears under its path in one step, once it is complete and checked. Each operation
  /// runs on its own thread, and ends early with `CancellationError` when its task is cancelled.
  package struct FileMaintenance: Sendable {
    private let configuration: StoreConfiguration

    package init(_ settings: EmbeddedBackend.Settings) {
      configuration = settings.store
    }

    package func check(at path: String, _ progress: MaintenanceHandler?) async throws -> CheckReport
    {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try FileCheck.run(at: path, configuration, progress: progress)
      }
    }

    /// Makes the file as small as possible, in place. Returns its size before and after.
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

    /// Corrects times that are ahead of the clock, in place. Returns the number of documents with
    /// other times.
    package func repairTimes(
      at path: String, _ progress: MaintenanceHandler?
    ) async throws -> Int {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try FileCopy.repairTimes(at: path, configuration, progress: progress)
      }
    }

    /// Makes a new database from an export.
    package func importDocuments(
      from path: String, toNew target: String, keepingTimes: Bool, skippingInvalidLines: Bool,
      _ progress: MaintenanceHandler?
    ) async throws -> ImportReport {
      try await MaintenanceReporter.run(progress) { [configuration] progress in
        try DocumentImport.build(
          from: path, to: target, configuration, keepingTimes: keepingTimes,
          skippingInvalidLines: skippingInvalidLines, progress: progress)
      }
    }
  }
}
