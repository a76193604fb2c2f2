#if Service
  import Hearth
  import ServiceLifecycle

  /// A database as a service of a `ServiceGroup`: it is closed last, after all writes are done.
  ///
  ///     let db = try Firestore.open(at: "books.hearth")
  ///     let group = ServiceGroup(
  ///       services: [FirestoreService(db), server], gracefulShutdownSignals: [.sigterm],
  ///       logger: logger)
  ///     try await group.run()
  ///
  /// A group shuts its services down in reverse order: put the database before those that use it.
  public struct FirestoreService: Service {
    private let firestore: Firestore

    /// A service that closes `firestore` on shutdown.
    public init(_ firestore: Firestore) { self.firestore = firestore }

    /// Waits for shutdown or cancellation, finishes pending writes, and closes the file.
    ///
    /// Throws the errors of `Firestore.terminate()`.
    public func run() async throws {
      try? await gracefulShutdown()
      try await firestore.terminate()
    }
  }
#endif
