#if Server
  import NIOCore

  /// When the calls of a connection over HTTP/2 end, by the time that their client gave them.
  ///
  /// One timer for all calls: nearly every call ends long before its time, and an event loop looks
  /// through all of its timers to cancel one. Used on the connection's event loop only.
  final class CallDeadlines {
    private struct Call {
      let end: NIODeadline
      let onEnd: () -> Void
    }

    private var calls = Line<Call>()
    private var timer: (end: NIODeadline, task: Scheduled<Void>)?

    /// Calls `onEnd` after this time, unless the call is removed before. Returns its number.
    func add(
      _ time: TimeAmount, on eventLoop: any EventLoop, onEnd: @escaping () -> Void
    ) -> Int {
      let end = eventLoop.now + time
      wait(until: end, eventLoop)
      return calls.append(Call(end: end, onEnd: onEnd))
    }

    func remove(_ number: Int) { calls.remove(number) }

    func removeAll() {
      calls.removeAll()
      timer.take()?.task.cancel()
    }

    private func wait(until end: NIODeadline, _ eventLoop: any EventLoop) {
      if let timer, timer.end <= end { return }
      timer?.task.cancel()
      let task = eventLoop.assumeIsolated().scheduleTask(deadline: end) {
        self.timer = nil
        self.endCalls(eventLoop)
      }
      timer = (end, task)
    }

    private func endCalls(_ eventLoop: any EventLoop) {
      let now = eventLoop.now
      // A call that ends may remove others.
      for (number, call) in calls.elements.sorted(by: { $0.key < $1.key })
      where call.end <= now {
        if calls.remove(number) != nil { call.onEnd() }
      }
      if let next = calls.elements.values.map(\.end).min() { wait(until: next, eventLoop) }
    }
  }
#endif
