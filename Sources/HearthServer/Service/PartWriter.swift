#if Server
  import GRPCCore
  import HearthEngine

  /// Writes the answers of a call in parts of about 64 KiB. A part waits until the client has read
  /// most of the one before: no more is in memory, and a slow client has its time for each part.
  struct PartWriter<Answer: Sendable> {
    private let writer: RPCWriter<Answer>
    private let room: AnswerRoom
    private var part: [Answer] = []
    private var bytes = 0

    init(_ writer: RPCWriter<Answer>, _ room: AnswerRoom) {
      self.writer = writer
      self.room = room
    }

    /// Adds an answer to the part, which the caller sends.
    ///
    /// - Parameter bytes: Its size, about.
    mutating func add(_ answer: Answer, bytes: Int) {
      part.append(answer)
      self.bytes += bytes
    }

    /// Sends the part if it is large enough.
    mutating func sendIfFull() async throws {
      if bytes >= StreamGuard.partBytes { try await send() }
    }

    mutating func write(_ answer: Answer, bytes: Int) async throws {
      add(answer, bytes: bytes)
      try await sendIfFull()
    }

    /// Sends what is left.
    mutating func send() async throws {
      guard !part.isEmpty else { return }
      try await room.take(bytes)
      let answers = part
      part = []
      bytes = 0
      try await writer.write(contentsOf: answers)
    }
  }

  extension StoredDocument {
    /// Bytes of an answer without the document's body: its name and times, about.
    static let headBytes = 128

    /// Its size in an answer, about.
    var answerBytes: Int { body.bytes.count + Self.headBytes }
  }
#endif
