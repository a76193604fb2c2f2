import Foundation
import GrowthRoutes
import TestSupport
import Testing

/// Public calls that take a list, and the routes by which `hearth-growth` measures them.
@Suite(.ownThreads) struct GrowthTests {
  /// Users of Hearth see the types of HearthEngine in it.
  private static let modules = [
    ("Hearth", "Hearth"), ("HearthEngine", "Hearth"), ("ParseSwift", "ParseSwift"),
    ("FirebaseDataConnect", "FirebaseDataConnect"), ("HearthTesting", "HearthTesting"),
    ("HearthServer", "HearthServer"), ("HearthService", "HearthService"),
  ]

  private static let declared = Set(
    modules.flatMap { folder, module in
      SourceTree.swiftFiles(in: "Sources/" + folder).flatMap(\.callsWithLists)
        .map { module + "." + $0 }
    })

  @Test func `every public call that takes a list is measured, or says why not`() {
    let listed = Set(GrowthRoute.all.flatMap(\.calls)).union(GrowthRoute.exempt.keys)
    #expect(Self.declared.count > 120)
    for call in Self.declared.subtracting(listed).sorted() {
      Issue.record(
        """
        \(call) takes a list, and nothing measures how its time grows. Add it to the calls of a route \
        in Tests/Helpers/GrowthRoutes that goes its way, or add a route; or name the reason in \
        GrowthRoute.exempt.
        """)
    }
    for call in listed.subtracting(Self.declared).sorted() {
      Issue.record("\(call) is no longer a public call with a list. Remove it from GrowthRoutes.")
    }
  }

  @Test func `a call is listed once, and every reason is a sentence`() {
    let calls = GrowthRoute.all.flatMap(\.calls) + GrowthRoute.exempt.keys
    #expect(Set(calls).count == calls.count)
    #expect(Set(GrowthRoute.all.map(\.name)).count == GrowthRoute.all.count)
    for reason in GrowthRoute.all.map(\.reason) + GrowthRoute.exempt.values {
      #expect(reason.last == "." && reason.first?.isUppercase == true, "\(reason)")
    }
  }

  @Test(arguments: GrowthRoute.all.map(\.name))
  func `a route runs with any number of elements`(name: String) async throws {
    let route = try #require(GrowthRoute.all.first { $0.name == name })
    for count in [8, route.count] { try await route.work(count)() }
  }

  @Test func `calls with lists are found in sources`() {
    let file = SourceFile(
      path: "Sources/Hearth/Face/Shelf.swift",
      text: """
        public struct Shelf {
          public init(_ books: [Book], named name: String) {}
          public func add(_ books: Book..., at place: Int = 0) {}
          @discardableResult public mutating func sort<S: Sequence>(by keys: S) where S.Element == Int {}
          public func find(_ done: @escaping ([Book]) -> Void) {}
          public func count(of books: Set<Book>) -> Int { 0 }
          public func first() -> [Book] { [] }
          func secret(_ books: [Book]) {}
          // public func comment(_ books: [Book]) {}
          public struct Board {
            public func put(
              _ weights: [String: Int] = [:],
              done: ((Error?) -> Void)?
            ) {}
          }
        }
        extension Sequence where Element == Book {
          public func saveAll(limit: Int? = nil) {}
        }
        public func either(_ conditions: [Condition]) -> Condition {}
        public func == (one: [Book], other: Book) -> Bool {}
        """)
    #expect(
      file.callsWithLists == [
        "Shelf.init(_:named:)", "Shelf.add(_:at:)", "Shelf.sort(by:)", "Shelf.count(of:)",
        "Shelf.Board.put(_:done:)", "Sequence.saveAll(limit:)", "either(_:)", "==(one:other:)",
      ])
  }
}

extension SourceFile {
  /// The names of public functions, initialisers and subscripts with a list or a dictionary among
  /// their parameters, or as their receiver: `Type.name(labels:)`.
  fileprivate var callsWithLists: [String] {
    code.indices.compactMap { line in
      guard let start = code[line].firstMatch(of: Self.publicCall) else { return nil }
      // A declaration is formatted to end soon.
      let text = ([String(code[line][start.range.lowerBound...])] + code[(line + 1)...].prefix(30))
        .joined(separator: "\n")
      guard let match = text.firstMatch(of: Self.publicCall),
        let (generics, parameters) = Self.parameters(text[match.range.upperBound...])
      else { return nil }
      let types = enclosingTypes(ofLine: line)
      let isReceiver = types.first.map(Self.lists.contains) ?? false
      guard isReceiver || Self.hasList(generics) || parameters.contains(where: Self.hasList) else {
        return nil
      }
      let word = match.output.2.map(String.init) ?? String(match.output.1)
      let name = word.filter { $0 != "`" }
      let labels = parameters.map { parameter in
        parameter.split { $0 == " " || $0 == ":" || $0 == "\n" }.first { !$0.hasPrefix("@") } ?? "_"
      }
      return (types + [name]).joined(separator: ".") + "(" + labels.map { $0 + ":" }.joined() + ")"
    }
  }

  /// The introducer, and the name of a function. Unsafe: it never changes.
  nonisolated(unsafe) private static let publicCall =
    /(?:^|\s)public (?:[a-z]+ )*?(init|subscript|func (`?[^\s\x28<`]+`?|<=?))[?!]?/

  private static let lists: Set<String> = [
    "Array", "Collection", "Dictionary", "KeyValuePairs", "RandomAccessCollection",
    "RangeReplaceableCollection", "Sequence", "Set",
  ]

  /// What is between a name and the end of its parameters: generic parameters, and each parameter.
  private static func parameters(_ text: Substring) -> (generics: String, list: [String])? {
    var generics = ""
    var parameters = [""]
    var (angles, depth) = (0, 0)
    var previous: Character = " "
    for character in text {
      defer { previous = character }
      switch character {
      case "(", "[", "{": depth += 1
      case ")", "]", "}": depth -= 1
      case "<": angles += 1
      case ">" where previous != "-": angles -= 1
      default: break
      }
      if depth == 0, character == ")", angles == 0 {
        parameters[0].removeFirst()
        return (generics, parameters.filter { !$0.allSatisfy(\.isWhitespace) })
      }
      if depth == 0 { generics.append(character) }
      if depth == 0 && angles == 0 && character == "{" { return nil }
      if depth == 1, angles == 0, character == "," {
        parameters.append("")
      } else if depth > 0 {
        parameters[parameters.count - 1].append(character)
      }
    }
    return nil
  }

  /// Whether a parameter, or a constraint of a generic one, is a list. A closure is none, whatever it
  /// gets.
  private static func hasList(_ text: String) -> Bool {
    let type = text.prefix { $0 != "=" }
    guard !text.contains("->"), let colon = type.firstIndex(of: ":") else { return false }
    let parts = type[colon...]
    return parts.contains("[") || parts.contains("...")
      || parts.split { !$0.isLetter }.contains { lists.contains(String($0)) }
  }

  /// The types around a line, from its indentation.
  private func enclosingTypes(ofLine line: Int) -> [String] {
    var types: [String] = []
    var indentation = code[line].prefix { $0 == " " }.count
    for outer in code[..<line].reversed() where indentation > 0 {
      let own = outer.prefix { $0 == " " }.count
      guard own < indentation, own < outer.count else { continue }
      let words = outer.split { $0 == " " }
      guard
        let word = words.firstIndex(where: {
          ["actor", "class", "enum", "extension", "protocol", "struct"].contains($0)
        }), word + 1 < words.count
      else { continue }
      types.insert(
        String(words[word + 1].prefix { $0.isLetter || $0.isNumber || $0 == "." }), at: 0)
      indentation = own
    }
    return types
  }
}
