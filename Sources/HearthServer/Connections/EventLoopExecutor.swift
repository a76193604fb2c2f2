#if Server
  import Dispatch
  import NIOCore
  import NIOPosix
  import Synchronization

  /// Runs the tasks of calls on the event loop of their connection.
  ///
  /// A call changes between gRPC's channel, which is on the event loop, and its task some ten times.
  /// If these are on two threads, each change wakes one thread and lets the other sleep: 16 times
  /// for a document that is read, instead of three.
  ///
  /// So nothing in a call may block, or compute for long: reads have the context `brief`, and files
  /// are opened elsewhere. An event loop with many jobs gives the next ones to the pool of threads:
  /// it would run all of them before it reads from its connections again.
  final class EventLoopExecutor: TaskExecutor {
    /// Nil for that of the thread that calls `enqueue`; the pool if it has none.
    private let eventLoop: (any EventLoop)?
    /// Jobs that wait on the event loop.
    private let waiting = Atomic<Int>(0)

    /// Each takes some 50 µs.
    private static let waitingLimit = 64

    init(_ eventLoop: (any EventLoop)?) { self.eventLoop = eventLoop }

    /// For tasks of gRPC, which wait for events of connections: they run where the event is.
    static let staying = EventLoopExecutor(nil)

    private static let all = Dictionary(
      uniqueKeysWithValues: MultiThreadedEventLoopGroup.singleton.makeIterator().map {
        (ObjectIdentifier($0), EventLoopExecutor($0))
      })

    /// Nil for an event loop on which no server runs.
    static func of(_ eventLoop: any EventLoop) -> EventLoopExecutor? {
      all[ObjectIdentifier(eventLoop)]
    }

    /// That of this thread.
    static var current: EventLoopExecutor {
      MultiThreadedEventLoopGroup.currentEventLoop.flatMap(of) ?? staying
    }

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      let run = { @Sendable [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
      let place =
        eventLoop == nil ? MultiThreadedEventLoopGroup.currentEventLoop.flatMap(Self.of) : self
      guard let place, let eventLoop = place.eventLoop,
        place.waiting.load(ordering: .relaxed) < Self.waitingLimit
      else { return DispatchQueue.global().async(execute: run) }
      place.waiting.wrappingAdd(1, ordering: .relaxed)
      eventLoop.execute {
        place.waiting.wrappingSubtract(1, ordering: .relaxed)
        run()
      }
    }
  }
#endif
