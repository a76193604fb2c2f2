#if Postgres
  import Foundation
  import HearthEngine
  import Logging

  /// Signals that there may be new changes: by a notification, or by looking once a second.
  final class PostgresFeed: Sendable {
    private struct Shared {
      var signal: (@Sendable () -> Void)?
      /// Ends the thread that was started with it.
      var number = 0
    }

    private let url: String
    private let isReadOnly: Bool
    private let logger: Logger
    private let shared = Guarded(Shared())

    init(_ url: String, isReadOnly: Bool, _ logger: Logger) {
      self.url = url
      self.isReadOnly = isReadOnly
      self.logger = logger
    }

    func start(_ signal: @escaping @Sendable () -> Void) {
      let number = shared.withLock { shared in
        shared.signal = signal
        shared.number += 1
        return shared.number
      }
      let thread = Thread { [self] in serve(number) }
      thread.name = "hearth.postgres.feed"
      thread.start()
    }

    func stop() {
      shared.withLock { shared in
        shared.signal = nil
        shared.number += 1
      }
    }

    private func signal(_ number: Int) -> (@Sendable () -> Void)? {
      shared.withLock { $0.number == number ? $0.signal : nil }
    }

    private func serve(_ number: Int) {
      var pause = 0.1
      while signal(number) != nil {
        do throws(PostgresFailure) {
          try listen(number)
        } catch {
          logger.warning("Listening is tried again.", metadata: ["error": "\(error.message)"])
          Thread.sleep(forTimeInterval: pause)
          pause = min(pause * 2, 2)
        }
      }
    }

    private func listen(_ number: Int) throws(PostgresFailure) {
      let connection = try PostgresConnection.forReading(url, isReadOnly: isReadOnly)
      _ = try connection.run([
        "SET default_transaction_isolation = 'read committed'"
      ])
      _ = try connection.run(["LISTEN \(try connection.channel())"])
      var last: Int64?
      while let signal = signal(number) {
        if last != nil, try connection.waitForNotification(milliseconds: 1000) {
          signal()
          continue
        }
        let sequence = try connection.run(["SELECT sequence FROM hearth_store"])
          .first?.integer(0, 0)
        // The first time, changes may have come before it listened.
        if sequence != last { signal() }
        last = sequence
      }
    }
  }
#endif
