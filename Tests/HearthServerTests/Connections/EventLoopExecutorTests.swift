#if Server
  import Dispatch
  import FirestoreProtocol
  import HearthEngine
  import Logging
  import NIOPosix
  import Testing

  @testable import HearthServer

  /// Where calls run. One test after another: they would be in each other's way.
  @Suite(.serialized) struct EventLoopExecutorTests {
    @Test func `a task runs on its event loop, also after it has waited for another thread`()
      async throws
    {
      for eventLoop in MultiThreadedEventLoopGroup.singleton.makeIterator() {
        let executor = try #require(EventLoopExecutor.of(eventLoop))
        // While other tests have many jobs there, it gives the next ones to the pool.
        var places: [Bool]
        var rounds = 0
        repeat {
          rounds += 1
          places = await Task(executorPreference: executor) {
            var places = [eventLoop.inEventLoop, EventLoopExecutor.current === executor]
            // Goes on when another thread says so.
            await withCheckedContinuation { done in
              DispatchQueue.global().async { done.resume() }
            }
            places.append(eventLoop.inEventLoop)
            let inner = Task.detached { eventLoop.inEventLoop }
            places.append(await inner.value == false)
            places.append(eventLoop.inEventLoop)
            let next = Task(executorPreference: EventLoopExecutor.staying) { eventLoop.inEventLoop }
            places.append(await next.value)
            return places
          }.value
        } while places.contains(false) && rounds < 10_000
        #expect(!places.contains(false), "\(places)")
      }
      #expect(EventLoopExecutor.current === EventLoopExecutor.staying)
    }

    @Test func `an event loop that is held up gives jobs to the pool`() async throws {
      // Of its own: connections of other tests would wait, too.
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let eventLoop = group.next()
      let executor = EventLoopExecutor(eventLoop)
      let gate = DispatchSemaphore(value: 0)
      eventLoop.execute { gate.wait() }
      let places = Places()
      let tasks = (0..<100).map { _ in
        Task(executorPreference: executor) {
          places.add(
            Place(
              method: "", peer: "",
              eventLoop: eventLoop.inEventLoop ? ObjectIdentifier(eventLoop) : nil))
        }
      }
      while places.all.count < 36 { await Task.yield() }
      #expect(places.all.allSatisfy { $0.eventLoop == nil })
      gate.signal()
      for task in tasks { await task.value }
      #expect(places.all.count == 100 && places.all.contains { $0.eventLoop != nil })
      try await group.shutdownGracefully()
    }

    private func placesOfCalls() async throws -> [Place] {
      let places = Places()
      let logger = Logger(label: "test") { _ in Recorder(places: places) }
      try await TestServer.run(logger: logger) { server in
        let document = TestServer.root + "/a/b"
        for number in Int64(0)..<20 {
          try await server.set(document, number)
          _ = try await server.get(document)
        }
        try await server.listening { try await server.set(document, 21) }
        let path = "/v1/\(document)"
        let text = String(repeating: "x", count: 2 * StreamGuard.partBytes)
        for text in ["short", text] {
          let written = try await server.rest(
            "PATCH", path, #"{"fields":{"text":{"stringValue":"\#(text)"}}}"#)
          #expect(written.status == 200, "\(written)")
        }
        try await server.eventually {
          if !places.all.contains(where: { $0.method == "Listen" }) {
            throw CancellationError()
          }
        }
      }
      return places.all
    }

    @Test func `the calls of a connection run on one event loop, and large bodies on none`()
      async throws
    {
      // Other tests may have given the event loops so much that some calls ran in the pool.
      for round in 1... {
        let all = try await placesOfCalls()
        let overGRPC = all.filter { !$0.peer.hasPrefix("rest:") }
        #expect(overGRPC.count >= 42)
        let byPeer = Dictionary(grouping: overGRPC, by: \.peer).values.map {
          (calls: $0.count, places: $0.compactMap(\.eventLoop))
        }
        #expect(byPeer.allSatisfy { Set($0.places).count <= 1 })
        let overREST = all.filter { $0.peer.hasPrefix("rest:") }.map { $0.eventLoop != nil }
        #expect(overREST.count == 2 && !overREST[1])
        if overREST[0], byPeer.allSatisfy({ $0.places.count * 2 > $0.calls }) { break }
        try #require(round < 50)
      }
    }
  }

  /// Where a call has ended.
  private struct Place {
    let method: String
    let peer: String
    /// Nil for a thread of the pool.
    let eventLoop: ObjectIdentifier?
  }

  private final class Places: Sendable {
    private let places = Guarded<[Place]>([])
    var all: [Place] { places.withLock { $0 } }

    func add(_ place: Place) { places.withLock { $0.append(place) } }
  }

  private struct Recorder: LogHandler {
    let places: Places
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      guard let method = event.metadata?["method"], let peer = event.metadata?["peer"] else {
        return
      }
      let eventLoop = MultiThreadedEventLoopGroup.currentEventLoop.map { ObjectIdentifier($0) }
      places.add(Place(method: "\(method)", peer: "\(peer)", eventLoop: eventLoop))
    }
  }
#endif
