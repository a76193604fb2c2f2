import Testing

@testable import Hearth
@testable import HearthEngine

/// The sentence with which something is refused as an invalid argument. Nil if it is not.
func refusal<T>(
  _ body: () throws -> T, sourceLocation: SourceLocation = #_sourceLocation
) -> String? {
  do {
    _ = try body()
    Issue.record("Nothing was refused.", sourceLocation: sourceLocation)
    return nil
  } catch let status as Status {
    #expect(status.code == .invalidArgument, sourceLocation: sourceLocation)
    return status.message
  } catch {
    Issue.record(error, sourceLocation: sourceLocation)
    return nil
  }
}
