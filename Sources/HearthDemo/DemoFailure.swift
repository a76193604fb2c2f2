/// The sentence of a check that did not hold, or of an index that cannot be read.
struct DemoFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
