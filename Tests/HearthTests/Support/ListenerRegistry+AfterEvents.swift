import Dispatch

@testable import HearthEngine

extension ListenerRegistry {
  /// Runs `body` on the registry's queue after everything committed before this call is in the mailboxes, and the
  /// listeners added before have their first results.
  func afterEvents(_ body: @escaping @Sendable () -> Void) {
    queue.async { [self] in
      turn { [self] in
        afterLoads(upTo: state.loads.last, body)
        return nil
      }
    }
  }

  private func afterLoads(upTo last: Int, _ body: @escaping @Sendable () -> Void) {
    guard state.loads.all.keys.allSatisfy({ $0 > last }) else {
      return queue.asyncAfter(deadline: .now() + .milliseconds(1)) { [self] in
        afterLoads(upTo: last, body)
      }
    }
    turn { .present }
    turn {
      body()
      return nil
    }
  }
}
