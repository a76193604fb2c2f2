#if Service
  import Hearth
  import ServiceLifecycle

  /// A database as one of a service's parts: it is closed last, when all writes are done.
  ///
  ///     let db = try Firestore.open(at: "books.hearth")
  ///     let group = ServiceGroup(
  ///       services: [FirestoreService(db), server], gracefulShutdownSignals: [.sigterm], logger: logger)
  ///     try await group.run()
  ///
  /// A group shuts its services down in the opposite order: name the database before those that use it.
  public struct FirestoreService: Service {
    private let firestore: Firestore

    public init(_ firestore: Firestore) { self.firestore = firestore }

    /// Waits for the end, does what waits to be written, and closes the file.
    public func run() async throws {
      try? await gracefulShutdown()
      try await firestore.terminate()
    }
  }
#endif
