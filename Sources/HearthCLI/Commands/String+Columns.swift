#if Tools
  import Hearth

  extension DocumentSnapshot {
    /// All fields on one line of at most `width` characters.
    func line(width: Int) throws -> String {
      try fieldValues?.brief.clipped(to: width) ?? ""
    }
  }

  extension String {
    /// Truncated to `width`, at least 8, with an ellipsis.
    func clipped(to width: Int) -> String {
      let width = max(width, 8)
      return count > width ? prefix(width - 1) + "…" : self
    }

    func padded(to width: Int) -> String {
      self + String(repeating: " ", count: max(0, width - count))
    }

    func leftPadded(to width: Int) -> String {
      String(repeating: " ", count: max(0, width - count)) + self
    }
  }
#endif
