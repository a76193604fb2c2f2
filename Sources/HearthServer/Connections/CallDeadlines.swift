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

    private var calls: [Int: Call] = [:]
    private var last = 0
    private var timer: (end: NIODeadline, task: Scheduled<Void>)?

    /// Calls `onEnd` after this time, unless the call is removed before. Returns its number.
    func add(
      _ time: TimeAmount, on eventLoop: any EventLoop, onEnd: @escaping () -> Void
    ) -> Int {
      last += 1
      let end = eventLoop.now + time
      calls[last] = Call(end: end, onEnd: onEnd)
      wait(until: end, eventLoop)
      return last
    }

    func remove(_ number: Int) { calls[number] = nil }

    func removeAll() {
      calls = [:]
      timer?.task.cancel()
      timer = nil
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
      for (number, call) in calls.sorted(by: { $0.key < $1.key }) where call.end <= now {
        if calls.removeValue(forKey: number) != nil { call.onEnd() }
      }
      if let next = calls.values.map(\.end).min() { wait(until: next, eventLoop) }
    }
  }
#endif
