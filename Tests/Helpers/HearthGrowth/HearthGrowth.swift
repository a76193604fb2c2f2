import Dispatch
import Foundation
import GrowthRoutes
import InstructionCounting
import ProcessorTime

/// Runs each route with n and with 4n elements, and prints both processor times and their ratio. Under
/// callgrind it counts instructions instead.
///
///     hearth-growth [<part of a route's name> …]
@main
struct HearthGrowth {
  // Not async: valgrind ends when Swift parks the main thread.
  static func main() {
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      await measureAll()
      isDone.signal()
    }
    isDone.wait()
  }

  private static func measureAll() async {
    let parts = CommandLine.arguments.dropFirst()
    do {
      for route in GrowthRoute.all
      where parts.isEmpty || parts.contains(where: { route.name.contains($0) }) {
        try await measure(route)
      }
    } catch {
      FileHandle.standardError.write(Data("A route failed: \(error)\n".utf8))
      exit(1)
    }
  }

  private static func measure(_ route: GrowthRoute) async throws {
    // What is made once for a program.
    try await route.work(8)()
    var times: [Duration] = []
    for count in [route.count, 4 * route.count] {
      let work = try await route.work(count)
      let start = ProcessorTime.ofProcess
      counting_begin()
      do {
        try await work()
      } catch {
        FileHandle.standardError.write(Data("\(route.name), \(count): ".utf8))
        throw error
      }
      "\(count)\t\(route.name)".withCString { counting_end($0) }
      times.append(ProcessorTime.ofProcess - start)
    }
    if counting_is_watched() != 0 { return }
    let ratio = times[1] / times[0]
    print("\(times[0])\t\(times[1])\t\((ratio * 10).rounded() / 10)\t\(route.name)")
  }
}
