#if Tools
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "watch",
      abstract: "Show a document or a query's result, and every change of it as it is committed.",
      discussion: """
        A query is what hearth query takes:

          hearth watch a.hearth books/dune
          hearth watch a.hearth 'books where genre == "sf" order by year desc limit 10'
          hearth watch a.hearth 'all reviews count, average(stars)'

        Results begin with + where they came, - where they went and ~ where they changed; numbers are their \
        positions. Changes of all processes count. Ends with ^C, or after --count snapshots.
        """)

    @OptionGroup var file: DatabaseArgument
    @Argument(help: "The path of a document, or a query, in quotes.") var query: String
    @Option(help: "End after so many snapshots; the first is what is there at the beginning.")
    var count: Int?
    @OptionGroup var output: OutputOptions

    func validate() throws {
      if let count, count < 1 { throw ValidationError("--count is 1 or more.") }
    }

    func run() async throws {
      try await file.database.open(.reading) { db in
        if let document = Position.document(query, in: db) { return try await watch(document) }
        switch try QueryText.read(query, in: db) {
        case .documents(let query): try await watch(query)
        case .numbers(let query, let fields): try await watch(query, fields)
        }
      }
    }

    private func watch(_ document: DocumentReference) async throws {
      var isFirst = true
      var before: DocumentSnapshot?
      for try await snapshot in document.snapshots.prefix(count ?? .max) {
        if snapshot.exists {
          try show(
            Change(kind: before == nil ? .added : .modified, document: snapshot, before: before))
        } else if !isFirst {
          try show(Change(kind: .removed, document: snapshot))
        } else {
          try note("\(document.path.legible) is not there yet; watching for it")
        }
        before = snapshot.exists ? snapshot : nil
        isFirst = false
      }
    }

    private func watch(_ query: Query) async throws {
      var isFirst = true
      var known: [DocumentReference: DocumentSnapshot] = [:]
      for try await snapshot in query.snapshots.prefix(count ?? .max) {
        if isFirst, !output.json {
          for line in try DocumentTable(snapshot.documents).lines(width: Terminal.width) {
            try Terminal.print(line)
          }
          try note("\(Figure.count(snapshot.count, "document")); watching")
        }
        for change in snapshot.documentChanges {
          let reference = change.document.reference
          if !isFirst || output.json { try show(Change(change, before: known[reference])) }
          known[reference] = change.type == .removed ? nil : change.document
        }
        isFirst = false
      }
    }

    private func watch(_ query: AggregateQuery, _ fields: [AggregateField]) async throws {
      for try await snapshot in query.snapshots.prefix(count ?? .max) {
        let numbers = fields.map { ($0.description, Value(aggregate: snapshot.get($0))) }
        if output.json {
          try Terminal.print(JSON.object(numbers.map { JSON.Member($0, $1.json) }))
        } else {
          let texts = numbers.map { "\($0.legible): \($1.brief)" }
          try Terminal.print("\(texts.joined(separator: "  "))")
        }
      }
    }

    fileprivate struct Change {
      var kind: DocumentChangeType
      var document: DocumentSnapshot
      var before: DocumentSnapshot?
      var oldIndex: Int?
      var newIndex: Int?

      var mark: String {
        switch kind {
        case .added: "+"
        case .modified: "~"
        case .removed: "-"
        }
      }

      /// From 1, as people count: `3`, and `3→1` for a result that moved.
      var position: String? {
        let numbers = [oldIndex, newIndex].compactMap { $0.map { "\($0 + 1)" } }
        guard let first = numbers.first, let last = numbers.last else { return nil }
        return first == last ? first : "\(first)→\(last)"
      }
    }

    private func show(_ change: Change) throws {
      let path = change.document.reference.path
      guard output.json else {
        let head = [change.mark, change.position].compactMap(\.self).joined(separator: " ")
        let path = path.legible
        let width = Terminal.width - head.count - path.count - 4
        let text = try change.text(width: width)
        try Terminal.print(
          "\(head) \(Terminal.bold("\(path)"))\(text.isEmpty ? "" : "  " + text.trimmingEnd)")
        return
      }
      var members = [JSON.Member("change", .string("\(change.kind)"))]
      for (name, index) in [("oldIndex", change.oldIndex), ("newIndex", change.newIndex)] {
        if let index { members.append(JSON.Member(name, .integer(Int64(index)))) }
      }
      let line = change.kind == .removed ? nil : try change.document.jsonLine
      let document = try line.map { try JSONReader.read($0) }
      members.append(
        JSON.Member("document", document ?? .object([JSON.Member("name", .string(path))])))
      try Terminal.print(JSON.object(members))
    }

    private func note(_ sentence: TerminalText) throws {
      if !output.json { try Terminal.print(Terminal.faint("(\(sentence))")) }
    }
  }

  extension WatchCommand.Change {
    fileprivate init(_ change: DocumentChange, before: DocumentSnapshot?) {
      self.init(
        kind: change.type, document: change.document, before: before,
        oldIndex: change.type == .added ? nil : Int(change.oldIndex),
        newIndex: change.type == .removed ? nil : Int(change.newIndex))
    }

    /// All fields of a new document, those that changed of another: `pages: 412 → 500`.
    fileprivate func text(width: Int) throws -> String {
      guard kind == .modified, let was = try before?.fieldValues?.fields,
        let now = try document.fieldValues?.fields
      else { return kind == .removed ? "" : try document.line(width: width) }
      var changed = now.compactMap { member -> String? in
        let value = member.value.brief
        guard let old = was.first(where: { $0.name == member.name })?.value.brief else {
          return "\(member.name.legible): + \(value)"
        }
        return old == value ? nil : "\(member.name.legible): \(old) → \(value)"
      }
      for member in was where !now.contains(where: { $0.name == member.name }) {
        changed.append("\(member.name.legible): -")
      }
      return changed.joined(separator: ", ").clipped(to: width)
    }
  }

  extension String {
    fileprivate var trimmingEnd: String {
      var text = self
      while text.last == " " { text.removeLast() }
      return text
    }
  }
#endif
