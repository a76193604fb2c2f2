import Glibc
import LMDB

/// The other process in the tests of `LMDB`.
///
/// Says `ready` when it stands where the test wants it, and goes on at a line of input. Table `t`.
@main
struct LMDBTestHelper {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard arguments.count >= 2 else { exit(64) }
    let path = arguments[1]
    let number = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
    do {
      switch arguments[0] {
      case "open": try hold(path)
      case "hold-readers": try holdReaders(path, count: number)
      case "write": try write(path, kilobytes: number)
      case "write-forever": try writeForever(path)
      case "fork": try forkWithTransactions(path)
      case "fill": try fill(path, limit: number)
      case "compare": try compareWithC(path, rounds: number)
      case "read-as-nobody": try readAsNobody(path)
      default: exit(64)
      }
    } catch let error as LMDBError {
      say("error \(error.code)")
    } catch {
      say("error \(error)")
    }
  }

  static func open(_ path: String, durability: Durability = .full) throws -> Environment {
    var configuration = EnvironmentConfiguration(tables: ["t"])
    configuration.durability = durability
    return try Environment.open(at: path, configuration: configuration)
  }

  /// Past any buffer, since a test may kill us.
  static func say(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = Glibc.write(1, bytes, bytes.count)
  }

  /// Not with `readLine`, which spins for ever once a signal has interrupted a read.
  static func awaitLine() {
    var byte: UInt8 = 0
    while byte != UInt8(ascii: "\n") {
      let count = Glibc.read(0, &byte, 1)
      guard count > 0 || (count < 0 && errno == EINTR) else { return }
    }
  }

  static func withKey<R>(_ number: Int, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R
  {
    try withUnsafeBytes(of: UInt64(number).bigEndian, body)
  }

  /// Without any rights but to read the file.
  static func readAsNobody(_ path: String) throws {
    setgid(65534)
    setuid(65534)
    var configuration = EnvironmentConfiguration(tables: ["t"])
    configuration.isReadOnly = true
    let environment = try Environment.open(at: path, configuration: configuration)
    let value = try Array("a".utf8).withUnsafeBytes { key in
      try environment.read {
        try $0.get(environment.table("t"), key).map { String(decoding: $0, as: UTF8.self) }
      }
    }
    say("reads \(value ?? "nothing")")
    awaitLine()
    environment.close()
  }

  static func hold(_ path: String) throws {
    let environment = try open(path)
    say("ready")
    awaitLine()
    environment.close()
  }

  /// Many reads at once; then what the last of them sees under "a".
  static func holdReaders(_ path: String, count: Int) throws {
    let environment = try open(path)
    try nest(environment, count)
  }

  private static func nest(_ environment: Environment, _ depth: Int) throws {
    try environment.read { snapshot in
      if depth > 1 { return try nest(environment, depth - 1) }
      say("ready")
      awaitLine()
      let key = [UInt8(ascii: "a")]
      let value = try key.withUnsafeBytes { try snapshot.get(environment.table("t"), $0) }
      say("sees \(value.map { String(decoding: $0, as: UTF8.self) } ?? "nothing")")
    }
  }

  /// One commit.
  static func put(
    _ numbers: Range<Int>, _ environment: Environment, valueBytes: Int = 1024
  ) throws {
    let table = environment.table("t")
    let key = UnsafeMutableRawBufferPointer.allocate(byteCount: 8, alignment: 8)
    let value = UnsafeMutableRawBufferPointer.allocate(byteCount: valueBytes, alignment: 8)
    defer {
      key.deallocate()
      value.deallocate()
    }
    value.initializeMemory(as: UInt8.self, repeating: 7)
    // No closures here: Swift 6.3.1 crashes on one that captures a value which is consumed later.
    var writing = try environment.beginWrite()
    for number in numbers {
      key.storeBytes(of: UInt64(number).bigEndian, as: UInt64.self)
      try writing.put(table, UnsafeRawBufferPointer(key), UnsafeRawBufferPointer(value))
    }
    try writing.commit()
  }

  static func write(_ path: String, kilobytes: Int) throws {
    let environment = try open(path, durability: .unsafeNoSync)
    try put(0..<kilobytes, environment)
    say("ready")
    awaitLine()
  }

  /// Two entries in one commit, and then the number on the line.
  static func writeForever(_ path: String) throws {
    let environment = try open(path)
    for number in 1..<1_000_000 {
      try put((number * 2)..<(number * 2 + 2), environment)
      say("\(number)")
    }
  }

  /// The child may use nothing and must harm nothing of the parent's.
  static func forkWithTransactions(_ path: String) throws {
    let environment = try open(path)
    let child = try environment.read { _ in
      let writing = try environment.beginWrite()
      let child = fork()
      if child == 0 {
        say("refused \(refusals(environment))")
        environment.close()
      } else {
        var status: Int32 = 0
        waitpid(child, &status, 0)
        say("readers \(try environment.info.readersInUse)")
        say("writer \(refusesToNest(environment))")
      }
      // In the child both leave the parent's alone.
      writing.abort()
      return child
    }
    if child == 0 { return }
    try put(1..<2, environment)
    say("parent well")
  }

  private static func refusals(_ environment: Environment) -> Int {
    let calls: [() throws -> Void] = [
      { try environment.read { _ in } },
      { _ = try environment.beginWrite() },
      { try environment.grow(toAtLeast: 1 << 40) },
      { try environment.reopen() },
      { try environment.sync() },
      { _ = try environment.info },
    ]
    return calls.count { call in
      do { try call() } catch { return error as? LMDBError == .forked }
      return false
    }
  }

  private static func refusesToNest(_ environment: Environment) -> Bool {
    do { _ = try environment.beginWrite() } catch { return error == .nestedWrite }
    return false
  }

  /// Writes until the file may not grow; then reads what was there before.
  static func fill(_ path: String, limit: Int) throws {
    if limit > 0 {
      signal(SIGXFSZ, SIG_IGN)
      var bound = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
      setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &bound)
    }
    let environment = try open(path)
    var written = 0
    do {
      while written < 100_000 {
        try put(written..<(written + 100), environment)
        written += 100
      }
    } catch let error as LMDBError {
      say("failed \(error.code)")
    }
    say("readable \(try count(written, environment) == written && written > 0)")
    do { try put(0..<0, environment) } catch LMDBError.needsReopen { say("refuses") }
    try environment.reopen()
    say("readable \(try count(written, environment) == written)")
    try put(0..<0, environment)
    say("writes")
  }

  /// How many of the first are there and whole.
  private static func count(_ numbers: Int, _ environment: Environment) throws -> Int {
    let table = environment.table("t")
    return try environment.read { snapshot in
      var count = 0
      for number in 0..<numbers {
        let size = try withKey(number) { try snapshot.get(table, $0)?.count }
        if size == 1024 { count += 1 }
      }
      return count
    }
  }
}
