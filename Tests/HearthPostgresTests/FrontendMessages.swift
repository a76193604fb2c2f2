#if Postgres
  /// The messages of a client of PostgreSQL, as far as tests have to understand them.
  ///
  ///     first, without a type: length, content     then: type, length, content
  struct FrontendMessages {
    private var waiting: [UInt8] = []
    private var hasStarted = false
    /// The prepared statements that note a commit.
    private var commits: Set<String> = []
    /// The last bytes had a commit, or the beginning of one.
    private(set) var isCommitting = false
    /// The last bytes had the end of a commit.
    private(set) var hasCommitted = false

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
        }
        position = start + length
      }
      waiting.removeFirst(position)
    }

    private mutating func note(_ type: UInt8, _ content: ArraySlice<UInt8>) {
      let texts = content.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
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
  }
#endif
