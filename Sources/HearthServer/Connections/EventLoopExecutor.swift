#if Server
  import NIOCore
  import NIOPosix

  /// Runs the tasks of calls on the event loop of their connection.
  ///
  /// A call changes between gRPC's channel, which is on the event loop, and its task some ten times.
  /// If these are on two threads, each change wakes one thread and lets the other sleep: 16 times
  /// for a document that is read, instead of three.
  ///
  /// So nothing in a call may block, or compute for long: reads have the context `brief`, and files
  /// are opened elsewhere.
  final class EventLoopExecutor: TaskExecutor {
    /// Nil for the event loop that calls `enqueue`.
    private let eventLoop: (any EventLoop)?

    private init(_ eventLoop: (any EventLoop)?) { self.eventLoop = eventLoop }

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
      let eventLoop =
        eventLoop ?? MultiThreadedEventLoopGroup.currentEventLoop
        ?? MultiThreadedEventLoopGroup.singleton.any()
      eventLoop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }
#endif
