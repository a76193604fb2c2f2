/// Something that the demo has done; the cases are in its order. The figures are those known so far.
package enum DemoEvent {
  case headline(String)
  case looked(at: String, entries: Int, DemoFigures)
  /// A step begins: its name, and the code that it shows.
  case step(String, String)
  case progress(Int, of: Int)
  case progressEnded
  case imported(DemoFigures)
  /// A document or a change, as an example.
  case record(String)
  case readBack(DemoFigures)
  case listened(to: String, rounds: Int, DemoFigures)
  case reopened(documents: Int, DemoFigures)
  case ended(String)
}
