/// One piece of work that is measured: prepared once, then run again and again.
///
/// Tests run every one at its smoke size, so that none rots.
public struct Workload: Sendable {
  public enum Subject: String, CaseIterable, Sendable {
    case format = "Format"
    case keys = "Keys"
    case coding = "Coding"
    case writing = "Writing"
    case query = "Query"
    case listening = "Listening"
    case opening = "Opening"
    case footprint = "Footprint"
  }

  /// How much there is of it.
  public struct Size: Sendable {
    public var books: Int

    public static let smoke = Size(books: 300)
    public static let full = Size(books: 20_000)
  }

  /// Runs once. Its digest depends on all that was done.
  public typealias Run = @Sendable () async throws -> Digest

  public let subject: Subject
  /// A sentence.
  public let title: String
  /// How often the work is done in one run.
  public let repetitions: Int
  public let prepare: @Sendable (Size) async throws -> Run

  init(
    _ subject: Subject, _ title: String, repetitions: Int = 1,
    prepare: @escaping @Sendable (Size) async throws -> Run
  ) {
    self.subject = subject
    self.title = title
    self.repetitions = repetitions
    self.prepare = prepare
  }

  public static let all =
    format + keys + coding + writing + query + listening + opening + footprint
}
