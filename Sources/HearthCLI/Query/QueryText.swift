#if Tools
  import Foundation
  import Hearth
  import HearthTerminal
  import HearthText

  /// A query as one line of text.
  ///
  ///     books where genre == "sf" and (pages > 100 or tags contains "long")
  ///       order by year desc, title start after 1965, "Dune" limit 20 select title, author.name
  ///     all reviews where stars >= 4 count, average(stars)
  ///
  /// Values are JSON, plain or typed; see `ValueType`. `all` selects every collection with
  /// that id. The name of a document is `__name__`.
  struct QueryText {
    enum Answer {
      case documents(Query)
      case numbers(AggregateQuery, [AggregateField])
    }

    private let bytes: [UInt8]
    private var position = 0
    private let database: Firestore

    static func read(_ text: String, in database: Firestore) throws -> Answer {
      // A file that was saved with a byte order mark: it is not part of the collection's name.
      let text =
        text.unicodeScalars.first == "\u{FEFF}" ? String(text.unicodeScalars.dropFirst()) : text
      var reader = QueryText(bytes: Array(text.utf8), database: database)
      return try reader.answer()
    }

    private init(bytes: [UInt8], database: Firestore) {
      self.bytes = bytes
      self.database = database
    }

    // MARK: Clauses

    private mutating func answer() throws -> Answer {
      var query = try scope()
      var numbers: [AggregateField] = []
      while !isAtEnd {
        if take("where") {
          query = query.whereFilter(try condition())
        } else if take("order") {
          try expect("by")
          repeat {
            let field = try field()
            let isDescending = take("desc")
            if !isDescending { _ = take("asc") }
            query = query.order(by: field, descending: isDescending)
          } while takeSymbol(",")
        } else if take("start") {
          query = take("after") ? query.start(after: try values()) : query.start(at: try cursor())
        } else if take("end") {
          query = take("before") ? query.end(before: try values()) : query.end(at: try cursor())
        } else if take("limit") {
          query = take("last") ? query.limit(toLast: try number()) : query.limit(to: try number())
        } else if take("offset") {
          query = query.offset(try number())
        } else if take("select") {
          var fields: [FieldPath] = []
          repeat { fields.append(try field()) } while takeSymbol(",")
          query = query.select(fields)
        } else if let number = try aggregation() {
          numbers = [number]
          while takeSymbol(",") {
            guard let next = try aggregation() else {
              throw failure("count, sum(field) or average(field)")
            }
            numbers.append(next)
          }
        } else {
          throw failure("where, order by, start, end, limit, offset, select, count, sum or average")
        }
      }
      return numbers.isEmpty ? .documents(query) : .numbers(query.aggregate(numbers), numbers)
    }

    private mutating func scope() throws -> Query {
      if take("all") {
        let id = word(also: "")
        guard !id.isEmpty else { throw failure("the id of collections") }
        return database.collectionGroup(id)
      }
      let path = word(also: "/")
      guard !path.isEmpty else { throw failure("the path of a collection") }
      try Position.mustBeCollection(
        path, instead: "A query begins with a collection: hearth get shows a document.")
      return database.collection(path)
    }

    private mutating func aggregation() throws -> AggregateField? {
      if take("count") { return .count() }
      let isSum = take("sum")
      guard isSum || take("average") else { return nil }
      guard takeSymbol("(") else { throw failure("(") }
      let field = try field()
      guard takeSymbol(")") else { throw failure(")") }
      return isSum ? .sum(field) : .average(field)
    }

    private mutating func cursor() throws -> [Any] {
      try expect("at")
      return try values()
    }

    // MARK: Conditions

    /// `and` binds closer than `or`.
    private mutating func condition() throws -> Filter {
      var members = [try conjunction()]
      while take("or") { members.append(try conjunction()) }
      return .orFilter(members)
    }

    private mutating func conjunction() throws -> Filter {
      var members = [try comparison()]
      while take("and") { members.append(try comparison()) }
      return .andFilter(members)
    }

    private mutating func comparison() throws -> Filter {
      if takeSymbol("(") {
        let inner = try condition()
        guard takeSymbol(")") else { throw failure(")") }
        return inner
      }
      let field = try field()
      if take("is") {
        let isNegative = take("not")
        let isNaN = take("nan")
        if !isNaN { try expect("null") }
        let value: Any = isNaN ? Double.nan : NSNull()
        return isNegative
          ? .whereField(field, isNotEqualTo: value) : .whereField(field, isEqualTo: value)
      }
      if take("in") { return .whereField(field, in: try list()) }
      if take("not") {
        try expect("in")
        return .whereField(field, notIn: try list())
      }
      if take("contains") {
        return take("any")
          ? .whereField(field, arrayContainsAny: try list())
          : .whereField(field, arrayContains: try value())
      }
      if takeSymbol("==") { return .whereField(field, isEqualTo: try value()) }
      if takeSymbol("!=") { return .whereField(field, isNotEqualTo: try value()) }
      if takeSymbol("<=") { return .whereField(field, isLessThanOrEqualTo: try value()) }
      if takeSymbol(">=") { return .whereField(field, isGreaterOrEqualTo: try value()) }
      if takeSymbol("<") { return .whereField(field, isLessThan: try value()) }
      if takeSymbol(">") { return .whereField(field, isGreaterThan: try value()) }
      throw failure("==, !=, <, <=, >, >=, in, not in, contains, contains any or is")
    }

    // MARK: Words and values

    /// `author.name`; a name with other characters is in backquotes.
    private mutating func field() throws -> FieldPath {
      var names: [String] = []
      repeat {
        if takeSymbol("`") {
          let start = position
          while position < bytes.count, bytes[position] != UInt8(ascii: "`") { position += 1 }
          names.append(String(decoding: bytes[start..<position], as: UTF8.self))
          guard takeSymbol("`") else { throw failure("`") }
        } else {
          let name = word(also: "")
          guard !name.isEmpty else { throw failure("a field") }
          names.append(name)
        }
      } while takeSymbol(".")
      return names == ["__name__"] ? .documentID() : FieldPath(names)
    }

    private mutating func value() throws -> Any {
      skipSpace()
      guard position < bytes.count else { throw failure("a value") }
      return try JSONReader.read(bytes, at: &position).value(in: database)
    }

    private mutating func values() throws -> [Any] {
      var values = [try value()]
      while takeSymbol(",") { values.append(try value()) }
      return values
    }

    private mutating func list() throws -> [Any] {
      guard let list = try value() as? [Any] else { throw failure("a list: [1, 2]") }
      return list
    }

    private mutating func number() throws -> Int {
      guard let number = Int(word(also: "")) else { throw failure("a number") }
      return number
    }

    private mutating func expect(_ keyword: StaticString) throws {
      guard take(keyword) else { throw failure("\(keyword)") }
    }

    /// Reads a keyword, in any case, if it is a whole word.
    private mutating func take(_ keyword: StaticString) -> Bool {
      let start = position
      if word(also: "").lowercased() == keyword.description { return true }
      position = start
      return false
    }

    private mutating func takeSymbol(_ symbol: StaticString) -> Bool {
      skipSpace()
      let utf8 = Array(symbol.description.utf8)
      guard bytes[position...].starts(with: utf8) else { return false }
      position += utf8.count
      return true
    }

    /// Reads letters, digits, underscores, hyphens, non-ASCII characters, and those in `more`.
    private mutating func word(also more: String) -> String {
      skipSpace()
      let start = position
      while position < bytes.count {
        let byte = bytes[position]
        let isLetter =
          byte >= 0x80 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
          || Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
        guard isLetter || more.utf8.contains(byte) else { break }
        position += 1
      }
      return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func skipSpace() {
      while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) {
        position += 1
      }
    }

    private var isAtEnd: Bool {
      mutating get {
        skipSpace()
        return position == bytes.count
      }
    }

    private func failure(_ expected: String) -> Failure {
      let rest = String(decoding: bytes[min(position, bytes.count)...], as: UTF8.self)
      let location = rest.isEmpty ? "at the end" : "before: \(rest)"
      return Failure("The query cannot be read: expected \(expected) \(location)")
    }
  }
#endif
