#if Postgres
  internal import CPostgres
  import HearthEngine

  /// An error of the server or of a connection to it.
  struct PostgresFailure: Error {
    /// Five characters; empty if the connection has failed.
    var state: String
    var message: String

    /// The connection cannot be used any more, and what was sent last may have been done or not.
    var isOfConnection: Bool {
      // Shut down, crashed, cannot connect now; a former leader, which writes nothing any more; ended
      // because it held the lock and did nothing.
      state.isEmpty || state.hasPrefix("08") || state == "57P01" || state == "57P02"
        || state == "57P03" || state == "25006" || state == "25P03" || state == "25P04"
    }

    /// The server has answered that it does not let this user in, or has no such database.
    var isRefusedLogin: Bool { state.hasPrefix("28") || state.hasPrefix("3D") }

    /// Another attempt may succeed, and nothing was applied. A prepared statement is missing (26000) if
    /// the group failed that was sent before and was to prepare it.
    var isContention: Bool {
      state == "40001" || state == "40P01" || state == "55P03" || state == "26000"
    }

    /// As an error of the backend; see PostgreSQL's table of error codes.
    var status: Status {
      var status = Status(code, "PostgreSQL: \(message)\(hint)", cause: self)
      status.isContention = isContention
      return status
    }

    private var hint: String {
      isOfTables
        ? ". The tables are not those of this version of Hearth: a newer one may have upgraded them."
        : ""
    }

    /// A table, a column or a function is missing, or has another type.
    private var isOfTables: Bool {
      ["42P01", "42703", "42883", "42804"].contains(state)
    }

    private var code: Status.Code {
      if isOfConnection { return .unavailable }
      if isContention { return .aborted }
      switch state {
      case "57014": return .deadlineExceeded
      case "42501": return .permissionDenied
      case "54000", "54023": return .invalidArgument
      default: break
      }
      switch state.prefix(2) {
      case "28": return .permissionDenied
      case "3D", "3F", "42", "0A", "55": return .failedPrecondition
      case "53": return .resourceExhausted
      case "57", "58": return .unavailable
      case "XX": return .dataLoss
      default: return .internal
      }
    }
  }
#endif
