#if Tools
  import Hearth
  import HearthDemo
  import HearthText

  /// The demo's events as sentences, and its import as a progress bar.
  final class DemoScreen {
    private let isQuiet: Bool
    private var bar: ProgressBar?

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    func show(_ event: DemoEvent) throws {
      switch event {
      case .headline(let text): try say(Terminal.bold("\(text)"))
      case .looked(let origin, let entries, let figures):
        try say(
          "\(origin): \(Figure.count(entries)) entries, \(Figure.bytes(figures.inputBytes)) of text."
        )
      case .step(let title, let code):
        try say("")
        try say("\(Terminal.bold("\(title)"))  \(Terminal.faint("\(code)"))")
      case .progress(let done, let total):
        if bar == nil { bar = ProgressBar(total: total) }
        bar?.advance(to: done)
      case .progressEnded: bar?.finish()
      case .imported(let figures):
        try say(
          "\(Figure.count(figures.documents, "document")) in \(Figure.duration(figures.importTime)): "
            + "\(Figure.count(figures.importRate)) documents a second, every one durable.")
        let shared = figures.documents / max(figures.importCommits, 1)
        try say(
          "They shared \(Figure.count(figures.importCommits, "commit")), about "
            + "\(Figure.count(shared, "document")) a flush to disk.")
      case .record(let line): try say("  \(line)")
      case .readBack(let figures):
        try say(
          "All \(Figure.count(figures.documents)) decoded and equal to what was written, in "
            + "\(Figure.duration(figures.readTime)): \(Figure.count(figures.readRate)) a second.")
      case .listened(let path, let rounds, let figures):
        try say(
          "One listener follows all \(Figure.count(figures.documents)) documents while \(path) "
            + "changes \(rounds) times.")
        try say(
          "A change is durable after \(Figure.duration(figures.acknowledged)), and the event "
            + "of it there after \(Figure.duration(figures.delivered)) (medians): one change, "
            + "not a new result.")
      case .reopened(let documents, let figures):
        try say(
          "Opened and the changed document read in \(Figure.duration(figures.reopenTime)); "
            + "all \(Figure.count(documents, "document")) are still there, and equal.")
        try say(
          "The file has \(Figure.bytes(figures.fileBytes)), \(Figure.count(figures.bytesPerDocument)) "
            + "bytes a document: \(Figure.bytes(figures.documentBytes)) of documents, "
            + "\(Figure.bytes(figures.changeLogBytes)) of change log.")
      case .ended(let text):
        try say("")
        try say(Terminal.bold("\(text)"))
      }
    }

    private func say(_ line: TerminalText) throws {
      if !isQuiet { try Terminal.print(line) }
    }
  }

  extension DemoFigures {
    var json: JSON {
      func milliseconds(_ name: String, _ duration: Duration) -> JSON.Member {
        JSON.Member(name, .double(duration / .milliseconds(1)))
      }
      return .object([
        JSON.Member("collection", .string(collection)),
        .init("documents", documents), .init("inputBytes", inputBytes),
        milliseconds("importMilliseconds", importTime),
        .init("importDocumentsPerSecond", importRate), .init("importCommits", importCommits),
        milliseconds("readMilliseconds", readTime), .init("readDocumentsPerSecond", readRate),
        milliseconds("acknowledgedMilliseconds", acknowledged),
        milliseconds("newsMilliseconds", delivered),
        milliseconds("reopenMilliseconds", reopenTime),
        .init("fileBytes", fileBytes), .init("documentBytes", documentBytes),
        .init("changeLogBytes", changeLogBytes), .init("bytesPerDocument", bytesPerDocument),
      ])
    }
  }
#endif
