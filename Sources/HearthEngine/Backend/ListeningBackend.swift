import Foundation

/// A backend whose listeners are those of a `ListenerRegistry`, and whose change tokens are of one
/// history.
package protocol ListeningBackend: ChangeFeed {
  var listeners: BackendListeners { get }
}

/// The listeners of a backend, and what its change tokens have in common.
package struct BackendListeners: Sendable {
  let registry: ListenerRegistry
  /// Distinguishes the tokens of this database from those of another one, or from before a restore.
  let history: History
}

extension ListeningBackend {
  var registry: ListenerRegistry { listeners.registry }

  /// The sequence from which to continue, for a token of this database.
  package func sequence(of token: ChangeToken) throws(Status) -> UInt64 {
    if token.database == listeners.history.id { return token.sequence }
    if listeners.history.isRestored {
      throw Status(
        .outOfRange,
        "The change token is from before the database was restored from a backup or lost commits, or "
          + "of another one."
      )
    }
    throw .invalidArgument("The change token is of another database.")
  }

  package func token(after sequence: UInt64) -> ChangeToken {
    ChangeToken(database: listeners.history.id, sequence: sequence)
  }

  package func listen(to target: Listener.Target, from token: ChangeToken?, _ listener: Listener) {
    do throws(Status) {
      registry.add(listener, watching: target, from: try token.map(start) ?? .now)
    } catch {
      listener.end(error)
      registry.noteEvents()
    }
  }

  private func start(_ token: ChangeToken) throws(Status) -> ListenerRegistry.Start {
    do throws(Status) {
      return .after(try sequence(of: token))
    } catch {
      guard error.code == .outOfRange else { throw error }
      return .reset
    }
  }

  package func stopListening(to target: Listener.Target, _ listener: Listener) {
    registry.remove(listener, watching: target)
  }

  package func observeSyncs(_ body: @escaping @Sendable (UInt64) -> Void) -> Observation {
    let observer = registry.addInSync(body)
    return Observation { [registry] in registry.removeInSync(observer) }
  }

  package func observeChanges(_ body: @escaping @Sendable () -> Void) -> Observation {
    let observer = registry.addTail(body)
    return Observation { [registry] in registry.removeTail(observer) }
  }
}

extension Acknowledgements {
  /// The origin of a request whose completion waits for listeners; nil if there are none.
  func origin(_ context: RequestContext) -> WriteOrigin? {
    WriteOrigin(isBlocking: context.thread == .blocked, self)
  }
}
