#if Postgres
  /// The messages of a client of PostgreSQL and the answers, as far as tests have to understand them.
  ///
  ///     first, without a type: length, content     then: type, length, content
  ///
  /// A round trip begins with a group of statements that is sent while no answer is waited for.
  struct FrontendMessages {
    private var waiting: [UInt8] = []
    private var hasStarted = false
    /// The prepared statements that note a commit.
    private var commits: Set<String> = []
    /// The last bytes had a commit, or the beginning of one.
    private(set) var isCommitting = false
    /// The last bytes had the end of a commit.
    private(set) var hasCommitted = false
    /// All so far.
    private(set) var roundTrips = 0
    /// The prepared statements that notify: nobody waits for their answer.
    private var notifications: Set<String> = []
    /// For each group that is not answered, whether its answer is waited for.
    private var unanswered: [Bool] = []
    /// The same for the group that is being sent; nil between groups.
    private var isAwaited: Bool?
    /// Requests before the first message, which are answered with one byte.
    private var negotiations = 0
    /// The beginning of an answer, and how many bytes of an answer follow.
    private var header: [UInt8] = []
    private var rest = 0

    mutating func take(_ bytes: ArraySlice<UInt8>) {
      if hasCommitted { (isCommitting, hasCommitted) = (false, false) }
      waiting += bytes
      var position = 0
      while true {
        let start = hasStarted ? position + 1 : position
        guard waiting.count >= start + 4 else { break }
        let length = waiting[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard waiting.count >= start + length else { break }
        if hasStarted {
          note(waiting[position], waiting[(start + 4)..<(start + length)])
        } else {
          // Asks for encryption before it begins, unless that is switched off.
          let code = waiting[(start + 4)..<(start + 8)].reduce(0) { $0 << 8 | Int($1) }
          hasStarted = code == 3 << 16
          if !hasStarted { negotiations += 1 }
        }
        position = start + length
      }
      waiting.removeFirst(position)
    }

    private mutating func note(_ type: UInt8, _ content: ArraySlice<UInt8>) {
      let texts = content.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
      noteGroup(type, texts)
      switch type {
      case UInt8(ascii: "P"):
        let text = String(decoding: texts[1], as: UTF8.self)
        guard text.contains("INSERT INTO hearth_commits"), !text.contains("true)") else { return }
        commits.insert(String(decoding: texts[0], as: UTF8.self))
      case UInt8(ascii: "B"):
        if commits.contains(String(decoding: texts[1], as: UTF8.self)) { isCommitting = true }
      case UInt8(ascii: "S"):
        if isCommitting { hasCommitted = true }
      default: break
      }
    }

    private mutating func noteGroup(_ type: UInt8, _ texts: [ArraySlice<UInt8>]) {
      func text(_ number: Int) -> String {
        texts.indices.contains(number) ? String(decoding: texts[number], as: UTF8.self) : ""
      }
      switch type {
      case UInt8(ascii: "S"):
        unanswered.append(isAwaited ?? true)
        isAwaited = nil
        return
      case UInt8(ascii: "P"):
        if text(1).contains("pg_notify") { notifications.insert(text(0)) }
      case UInt8(ascii: "X"): return
      default: break
      }
      guard isAwaited == nil else { return }
      let isNotification =
        type == UInt8(ascii: "P") && text(1).contains("pg_notify")
        || type == UInt8(ascii: "B") && notifications.contains(text(1))
      isAwaited = !isNotification
      if !isNotification, !unanswered.contains(true) { roundTrips += 1 }
    }

    /// Takes what the server has sent.
    mutating func takeAnswer(_ bytes: ArraySlice<UInt8>) {
      var bytes = bytes
      while !bytes.isEmpty {
        if negotiations > 0 {
          negotiations -= 1
          bytes.removeFirst()
          continue
        }
        if rest > 0 {
          let count = min(rest, bytes.count)
          bytes.removeFirst(count)
          rest -= count
          continue
        }
        header.append(bytes.removeFirst())
        guard header.count == 5 else { continue }
        // Ready for the next group.
        if header[0] == UInt8(ascii: "Z"), !unanswered.isEmpty { unanswered.removeFirst() }
        rest = header[1...].reduce(0) { $0 << 8 | Int($1) } - 4
        header = []
      }
    }
  }
#endif
