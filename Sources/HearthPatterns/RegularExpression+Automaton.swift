internal import HearthText
import Synchronization

extension RegularExpression {
  /// Finds a program in texts.
  ///
  /// A deterministic automaton, whose states and transitions are computed when a text first needs
  /// them:
  ///
  ///                 classes of scalars ─▶
  ///              ┌─────────┬─────────┬─────┐
  ///      state 3 │    4    │ matched │  …  │   transitions
  ///      state 4 │ unknown │    3    │  …  │
  ///              └─────────┴─────────┴─────┘
  ///
  /// When there is no space for more states, the nondeterministic automaton reads the rest of the
  /// text. The deterministic one usually takes O(text) time; the other takes O(text × program), and
  /// gives up after `Limit.steps`.
  final class Automaton: Sendable {
    // Transitions that are not states.
    private static let unknown: UInt16 = 0
    private static let failed: UInt16 = 1
    private static let matched: UInt16 = 2
    private static let start: UInt16 = 3

    private static let transitionLimit = 1 << 16
    /// The positions in all states. Bounds the time in which states are computed.
    private static let positionLimit = 1 << 16

    private let program: Program
    /// The number of classes.
    private let width: Int
    private let stateLimit: Int
    private let states: Mutex<States>
    // Allocated for all states. Relaxed: a transition is a number that changes once, from unknown,
    // and what a state contains is read with the lock.
    nonisolated(unsafe) private let transitions: UnsafeMutablePointer<Atomic<UInt16>>
    private let classTable: ClassTable

    private struct States {
      /// The states in order, the first being `start`.
      var list: [Simulation.State]
      var ids: [Simulation.State: UInt16]
      var positionCount = 0
      var simulation: Simulation
    }

    init(_ program: Program, stateLimit: Int) {
      self.program = program
      width = program.contexts.count
      self.stateLimit = min(max(stateLimit, 1), max(Automaton.transitionLimit / width, 1))
      let count = (self.stateLimit + Int(Automaton.start)) * width
      transitions = .allocate(capacity: count)
      for index in 0..<count { (transitions + index).initialize(to: Atomic(Automaton.unknown)) }
      classTable = ClassTable(program)
      let simulation = Simulation(program)
      states = Mutex(
        States(
          list: [simulation.state], ids: [simulation.state: Automaton.start],
          simulation: simulation))
    }

    /// The same automaton before its first text.
    func withoutStates() -> Automaton { Automaton(program, stateLimit: stateLimit) }

    deinit {
      transitions.deallocate()
      classTable.deallocate()
    }

    /// Nil after `Limit.steps`. Whether there are so many depends on the texts before, whose states take
    /// up space. Throws `Failure.interrupted` if the deadline passes first.
    func isFound(
      in text: UnsafeRawBufferPointer, until deadline: (any SearchDeadline)? = nil
    ) throws(Failure) -> Bool? {
      var classes = TextClasses(text, classTable)
      var state = Automaton.start
      while let next = classes.next() {
        let transition = transitions[Int(state) * width + next].load(ordering: .relaxed)
        if transition >= Automaton.start {
          state = transition
          continue
        }
        if transition == Automaton.unknown {
          if deadline?.hasPassed == true { throw .interrupted }
          switch computeTransition(from: state, on: next) {
          case .known(let known) where known >= Automaton.start:
            state = known
            continue
          case .known(let known): return known == Automaton.matched
          case .noSpace(var simulation): return try simulation.run(program, &classes, deadline)
          }
        }
        return transition == Automaton.matched
      }
      return false
    }

    private enum Transition {
      case known(UInt16)
      /// The simulation has made the transition.
      case noSpace(Simulation)
    }

    private func computeTransition(from state: UInt16, on next: Int) -> Transition {
      states.withLock { states in
        states.simulation.state = states.list[Int(state - Automaton.start)]
        let transition: UInt16
        switch states.simulation.step(program, next) {
        case .matched: transition = Automaton.matched
        case .failed: transition = Automaton.failed
        case .undecided:
          // The order depends on the path to the state, which is a set.
          states.simulation.state.positions.sort()
          let state = states.simulation.state
          if let id = states.ids[state] {
            transition = id
          } else if states.list.count < stateLimit,
            states.positionCount + state.positions.count <= Automaton.positionLimit
          {
            states.positionCount += state.positions.count
            transition = Automaton.start + UInt16(states.list.count)
            states.list.append(state)
            states.ids[state] = transition
          } else {
            return .noSpace(states.simulation)
          }
        }
        transitions[Int(state) * width + next].store(transition, ordering: .relaxed)
        return .known(transition)
      }
    }
  }

  /// The nondeterministic automaton, between two scalars of a text.
  struct Simulation: Sendable {
    struct State: Hashable, Sendable {
      /// The next instructions of all paths. A path also begins at each position, with the first.
      var positions: [Int32]
      /// The part of the context before the position that the program's assertions read.
      var before: Context
    }

    enum Outcome { case undecided, matched, failed }

    var state: State
    private var nextPositions: [Int32] = []
    private var stack: [Int32] = []
    /// For each instruction, the last step that reached it.
    private var visits: [Int]
    private var steps = 0
    /// How often any instruction was reached.
    private var reachedCount = 0

    init(_ program: Program) {
      state = State(positions: [], before: program.contextBefore.intersection(.textStart))
      visits = [Int](repeating: 0, count: program.instructions.count)
    }

    /// Follows all paths over a scalar of the class `next`. Visits each instruction at most once.
    mutating func step(_ program: Program, _ next: Int) -> Outcome {
      steps += 1
      nextPositions.removeAll(keepingCapacity: true)
      let (before, after) = (state.before, program.contexts[next])
      stack.append(0)
      for position in state.positions { stack.append(position) }
      while let position = stack.popLast() {
        reachedCount += 1
        let index = Int(position)
        if visits[index] == steps { continue }
        visits[index] = steps
        let instruction = program.instructions[index]
        switch instruction.kind {
        case .set:
          if program.isMember(next, of: Int(instruction.operand)) {
            nextPositions.append(position + 1)
          }
        case .assertion:
          let assertion = Assertion(rawValue: Int(instruction.operand))
          if assertion?.holds(between: before, and: after) == true {
            stack.append(position + 1)
          }
        case .split:
          stack.append(position + 1)
          stack.append(position + instruction.operand)
        case .jump: stack.append(position + instruction.operand)
        case .match:
          stack.removeAll(keepingCapacity: true)
          return .matched
        }
      }
      swap(&state.positions, &nextPositions)
      state.before = after.intersection(program.contextBefore)
      let hasFailed = next == program.textEnd || program.isAnchored && state.positions.isEmpty
      return hasFailed ? .failed : .undecided
    }

    /// Reads the rest of a text. Nil after `Limit.steps`.
    mutating func run(
      _ program: Program, _ classes: inout TextClasses, _ deadline: (any SearchDeadline)?
    ) throws(Failure) -> Bool? {
      reachedCount = 0
      var lastCheck = 0
      while let next = classes.next() {
        if reachedCount > Limit.steps { return nil }
        if let deadline, reachedCount - lastCheck > 1024 {
          if deadline.hasPassed { throw .interrupted }
          lastCheck = reachedCount
        }
        switch step(program, next) {
        case .undecided: continue
        case .matched: return true
        case .failed: return false
        }
      }
      return false
    }
  }

  /// The classes of all scalars.
  ///
  /// Raw memory: counting references for each text would slow down parallel scans.
  struct ClassTable: @unchecked Sendable {
    // Unchecked: never changes.
    fileprivate let low: UnsafeMutablePointer<UInt16>
    private let rangeStarts: UnsafeMutableBufferPointer<UInt32>
    private let rangeClasses: UnsafeMutableBufferPointer<UInt16>
    let finalNewline: Int
    let textEnd: Int

    fileprivate static let lowCount: UInt32 = 0x800

    init(_ program: Program) {
      low = .allocate(capacity: Int(ClassTable.lowCount))
      rangeStarts = .allocate(capacity: program.rangeStarts.count)
      rangeClasses = .allocate(capacity: program.rangeClasses.count)
      _ = rangeStarts.initialize(from: program.rangeStarts)
      _ = rangeClasses.initialize(from: program.rangeClasses)
      finalNewline = program.finalNewline
      textEnd = program.textEnd
      for scalar in 0..<ClassTable.lowCount {
        (low + Int(scalar)).initialize(to: program.scalarClass(of: scalar))
      }
    }

    func deallocate() {
      low.deallocate()
      rangeStarts.deallocate()
      rangeClasses.deallocate()
    }

    func scalarClass(of scalar: UInt32) -> Int {
      if scalar < ClassTable.lowCount { return Int(low[Int(scalar)]) }
      return Int(rangeClasses[rangeStarts.partitioningIndex { $0 > scalar } - 1])
    }
  }

  /// The classes of a text's scalars, and then that of the text's end.
  struct TextClasses {
    private let text: UnsafeRawBufferPointer
    private let table: ClassTable
    private var position = 0
    /// The end of the text without a newline at its end.
    private let bodyEnd: Int

    init(_ text: UnsafeRawBufferPointer, _ table: ClassTable) {
      self.text = text
      self.table = table
      bodyEnd = text.last == UInt8(ascii: "\n") ? text.count - 1 : text.count
    }

    @inline(__always)
    mutating func next() -> Int? {
      guard position < bodyEnd else { return nextAtEnd() }
      let byte = text[position]
      guard byte >= 0x80 else {
        position += 1
        return Int(table.low[Int(byte)])
      }
      let scalar = text.scalar(at: position)
      position += scalar.byteCount
      return table.scalarClass(of: scalar.value)
    }

    private mutating func nextAtEnd() -> Int? {
      guard position <= text.count else { return nil }
      position += 1
      return position <= text.count ? table.finalNewline : table.textEnd
    }
  }
}
