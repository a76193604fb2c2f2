import Foundation
internal import HearthText

/// The databases of this process: one instance per file, for every path that leads to the file.
///
/// A file is identified by the bytes of its path and, while it is open, also by its inode: a hard
/// link leads to the same instance.
final class OpenDatabases: Sendable {
  static let shared = OpenDatabases()

  private struct State {
    var byPath: [BytewiseString: Firestore] = [:]
    /// Only open files: an inode that no process holds may be reused for another file.
    var byFile: [FileIdentity: Firestore] = [:]
  }

  private struct FileIdentity: Hashable {
    let device: dev_t
    let inode: ino_t

    /// Nil if there is no such file.
    init?(at path: String) {
      var status = stat()
      // The system would ignore everything after a zero byte.
      guard !path.utf8.contains(0), stat(path, &status) == 0 else { return nil }
      device = status.st_dev
      inode = status.st_ino
    }
  }

  private let state = Guarded(State())

  func instance(at path: String, _ make: (String) -> Firestore) -> Firestore {
    let path = Self.canonical(path)
    let key = BytewiseString(path)
    return state.withLock { state in
      if let instance = state.byPath[key] { return instance }
      if !state.byFile.isEmpty, let file = FileIdentity(at: path), let instance = state.byFile[file]
      {
        return instance
      }
      let instance = make(path)
      state.byPath[key] = instance
      return instance
    }
  }

  /// Same as `instance`, for a URL.
  func server(at url: String, _ make: () -> Firestore) -> Firestore {
    let key = BytewiseString(url)
    return state.withLock { state in
      if let instance = state.byPath[key] { return instance }
      let instance = make()
      state.byPath[key] = instance
      return instance
    }
  }

  /// The instance whose identity has this name, if it is open.
  func instance(named name: String) -> Firestore? {
    state.withLock { $0.byPath[BytewiseString(name)] }
  }

  /// The databases of an app, found by its name: they may have been requested before the app was
  /// configured.
  func instances(of app: FirebaseApp) -> [Firestore] {
    state.withLock { state in
      state.byPath.values.filter {
        $0.isOfApp && BytewiseString($0.app.name) == BytewiseString(app.name)
      }
    }
  }

  /// Records that the instance has its file open, until `forget`.
  func note(open instance: Firestore) {
    guard let file = FileIdentity(at: instance.path) else { return }
    state.withLock { $0.byFile[file] = instance }
  }

  func forget(_ instance: Firestore) {
    let key = BytewiseString(instance.path)
    state.withLock { state in
      if state.byPath[key] === instance { state.byPath[key] = nil }
      if let file = state.byFile.first(where: { $0.value === instance })?.key {
        state.byFile[file] = nil
      }
    }
  }

  /// The absolute path, with symbolic links resolved in the part that exists: the same before and
  /// after the file and its folders are created.
  static func canonical(_ path: String) -> String {
    // By bytes: a slash followed by a combining accent is another `Character` than a slash.
    let slash = UInt8(ascii: "/")
    var known = absolute(path)
    var missing: [Substring] = []
    while true {
      if let real = realpath(known) {
        return missing.reversed().reduce(real == "/" ? "" : real) { $0 + "/" + $1 }
      }
      guard let last = known.utf8.lastIndex(of: slash) else { return path }
      let name = known[known.utf8.index(after: last)...]
      if !name.isEmpty { missing.append(name) }
      known = last == known.startIndex ? "/" : String(known[..<last])
    }
  }

  static func absolute(_ path: String) -> String {
    path.utf8.first == UInt8(ascii: "/")
      ? path : FileManager.default.currentDirectoryPath + "/" + path
  }

  private static func realpath(_ path: String) -> String? {
    // The system would ignore everything after a zero byte.
    guard !path.utf8.contains(0), let buffer = Foundation.realpath(path, nil) else { return nil }
    defer { free(buffer) }
    return String(cString: buffer)
  }
}

/// The location of databases that are opened without a path.
///
/// The folder is `HEARTH_HOME` of the environment, else `hearth` in `XDG_DATA_HOME`, else
/// `~/.local/share/hearth`. It contains the default app's databases: the default one is
/// `(default).hearth`. Databases of another app are in a subfolder with the app's name.
enum DefaultLocation {
  static var folder: String {
    let environment = ProcessInfo.processInfo.environment
    if let home = environment["HEARTH_HOME"], !home.isEmpty { return home }
    if let data = environment["XDG_DATA_HOME"], !data.isEmpty { return data + "/hearth" }
    // `NSHomeDirectory` reads the list of users and ignores the environment.
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    return home + "/.local/share/hearth"
  }

  static func path(app: FirebaseApp, database: String) -> String {
    let isDefault = BytewiseString(app.name) == BytewiseString(FirebaseApp.hearthDefault.name)
    let folder = isDefault ? folder : folder + "/" + fileName(app.name)
    return folder + "/" + fileName(database) + ".hearth"
  }

  /// A file name that differs for each name and does not lead out of the folder: `a/b` is `a%2Fb`.
  static func fileName(_ name: String) -> String {
    if name.isEmpty { return "%" }
    var escaped: [UInt8] = []
    for (position, byte) in name.utf8.enumerated() {
      let isPlain = byte > 0 && byte != UInt8(ascii: "/") && byte != UInt8(ascii: "%")
      if isPlain, position > 0 || byte != UInt8(ascii: ".") {
        escaped.append(byte)
      } else {
        escaped += String(format: "%%%02X", byte).utf8
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  /// Creates the folder of a file, for its owner only. Throws `unavailable`.
  static func prepare(forFileAt path: String) throws(Status) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
    let folder = String(path[...slash])
    if access(folder, F_OK) == 0 { return }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    } catch {
      let reason = FileError.sentence(for: error).map { " \($0)" } ?? ""
      throw Status(
        .unavailable, "Cannot make the folder \(folder.legible).\(reason)", cause: error)
    }
  }
}
