import Foundation
import TestSupport
import Testing

@testable import Hearth
@testable import HearthEngine

@Suite struct ParallelChunksTests {
  private struct Odd: Error {}

  private func squares(
    of count: Int, threads: Int, sizes: ClosedRange<Int>, stopAfter: Int = .max,
    failAt: Int? = nil, walkFailsAt: Int? = nil
  ) throws -> [Int] {
    var told: [Int] = []
    try ParallelChunks<Int, [Int]>.run(
      threads: threads, sizes: sizes,
      work: { items in
        try items.map { item in
          if item == failAt { throw Odd() }
          return item * item
        }
      },
      emit: { squares in
        told += squares
        return told.count < stopAfter
      },
      walk: { add in
        for item in 0..<count {
          if item == walkFailsAt { throw Odd() }
          guard try add(item) else { return }
        }
      })
    return told
  }

  @Test func `what many threads do comes in the order of the walk, all of it, once`() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<(Soak.isOn ? 20_000 : 500) {
      let count = Int.random(in: 0...300, using: &random)
      let lower = Int.random(in: 1...20, using: &random)
      let sizes = lower...(lower + Int.random(in: 0...40, using: &random))
      let threads = Int.random(in: 1...6, using: &random)
      let told = try squares(of: count, threads: threads, sizes: sizes)
      #expect(told == (0..<count).map { $0 * $0 }, "\(count) by \(threads) in \(sizes)")
    }
  }

  @Test func `others take part`() throws {
    let threads = Guarded<Set<UInt64>>([])
    let begin = ContinuousClock.now
    // They come when there is a thread for them.
    while threads.withLock({ $0.count }) < 2, .now - begin < .seconds(60) {
      try ParallelChunks<Int, Void>.run(
        threads: 4, sizes: 1...1,
        work: { _ in
          let thread = UInt64(pthread_self())
          threads.withLock { _ = $0.insert(thread) }
          usleep(100)
        },
        emit: { true }, walk: { add in for item in 0..<50 { _ = try add(item) } })
    }
    #expect((2...200).contains(threads.withLock { $0.count }))
  }

  @Test func `who has enough is told no more, and what was told is the beginning`() throws {
    for enough in [1, 3, 17, 64, 200] {
      let told = try squares(of: 10_000, threads: 4, sizes: 4...16, stopAfter: enough)
      #expect(told == (0..<told.count).map { $0 * $0 })
      #expect(told.count >= enough && told.count < enough + 16)
    }
  }

  @Test(arguments: [0, 3, 50, 999]) func `an error ends it, and nothing behind is told`(
    _ place: Int
  ) throws {
    for threads in 1...4 {
      #expect(throws: Odd.self) {
        try squares(of: 1000, threads: threads, sizes: 4...8, failAt: place)
      }
      #expect(throws: Odd.self) {
        try squares(of: 1000, threads: threads, sizes: 4...8, walkFailsAt: place)
      }
    }
  }

  @Test func `nobody holds anything of the caller's when it is over`() throws {
    final class Held: Sendable {}
    for round in 0..<200 {
      weak var held: Held?
      do {
        let mine = Held()
        held = mine
        try ParallelChunks<Int, Int>.run(
          threads: 4, sizes: 1...2,
          work: { items in withExtendedLifetime(mine) { items.count } },
          emit: { _ in round % 3 != 0 },
          walk: { add in for item in 0..<50 { guard try add(item) else { return } } })
      }
      #expect(held == nil)
    }
  }

  @Test func `it goes on alone where every thread is busy`() throws {
    let release = DispatchSemaphore(value: 0)
    let busy = DispatchGroup()
    // More than there are threads for.
    for _ in 0..<200 {
      DispatchQueue.global().async(group: busy) { release.wait() }
    }
    let told = try squares(of: 500, threads: 4, sizes: 2...8)
    for _ in 0..<200 { release.signal() }
    busy.wait()
    #expect(told == (0..<500).map { $0 * $0 })
  }
}
