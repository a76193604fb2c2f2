#if Tools
  import Foundation

  /// Notices changes of the files of the projects in a folder.
  public struct ProjectWatch: Sendable {
    /// The folder that `--config` gives. Nil: the nearest project upwards.
    var folder: String?
    var workingDirectory: String

    /// A watch that has not begun.
    public init(
      folder: String? = nil,
      workingDirectory: String = FileManager.default.currentDirectoryPath
    ) {
      self.folder = folder
      self.workingDirectory = workingDirectory
    }

    /// Calls `onChange` now, and each time that a YAML file or a source has changed. Ends when the task
    /// is cancelled.
    ///
    /// Compares the files' sizes and times of modification each `interval`.
    public func run(
      interval: Duration = .milliseconds(50), _ onChange: () async throws -> Void
    ) async throws {
      var seen: Fingerprint?
      while !Task.isCancelled {
        // Before the call: a change during it is the next one's.
        let current = fingerprint()
        if current != seen {
          seen = current
          try await onChange()
        }
        do {
          try await Task.sleep(for: interval)
        } catch {
          return
        }
      }
    }

    typealias Fingerprint = [String: FileState]

    struct FileState: Hashable {
      var sizeBytes: Int64
      var seconds: Int
      var nanoseconds: Int
      var inode: UInt64
    }

    func fingerprint() -> Fingerprint {
      var folders: Set<String> = []
      let projects = (try? DataConnectProject.find(in: folder, workingDirectory: workingDirectory))
      for project in projects ?? [] {
        folders.insert(project)
        let loaded = try? DataConnectProject(folder: project, workingDirectory: workingDirectory)
        folders.formUnion(loaded?.watchedFolders ?? [])
      }
      if let folder { folders.insert(Paths.absolute(folder, from: workingDirectory)) }
      let extensions = DataConnectProject.extensions.union(["yaml", "yml"])
      var paths = Set(
        folders.flatMap { Paths.files(below: $0, withExtensions: extensions) })
      // Files whose absence matters, too.
      for folder in folders.union([workingDirectory]) {
        paths.formUnion(["\(folder)/firebase.json", "\(Paths.parent(folder))/firebase.json"])
      }
      var result: Fingerprint = [:]
      for path in paths {
        var status = stat()
        guard stat(path, &status) == 0 else { continue }
        result[path] = FileState(
          sizeBytes: Int64(status.st_size), seconds: Int(status.st_mtim.tv_sec),
          nanoseconds: Int(status.st_mtim.tv_nsec), inode: UInt64(status.st_ino))
      }
      return result
    }
  }
#endif
