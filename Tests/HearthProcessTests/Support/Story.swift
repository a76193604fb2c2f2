/// What the helper writes; see its `Story`.
enum Story {
  static func text(_ task: Int, _ step: Int) -> String {
    String(repeating: "\(task)/\(step) ", count: 1 + (task &* 7 &+ step &* 13) % 60)
  }
}
