import CompilerCheck
import Foundation
import Testing

/// What the compiler says about typed queries and updates that are wrong.
@Suite struct CompilerMessageTests {
  /// Put before every snippet.
  private static let models = """
    import Foundation
    import Hearth

    enum Genre: String, Codable { case novel, poem }

    struct Author: Codable, DocumentModel {
      var name: String
      struct Fields: Sendable { var name: Field<String> { Field("name") } }
      static let fields = Fields()
    }

    struct Book: Codable, DocumentModel {
      var title: String
      var pages: Int
      var tags: [String]
      var author: Author
      var genre: Genre
      var embedding: VectorValue
      struct Fields: Sendable {
        var title: Field<String> { Field("title") }
        var pages: Field<Int> { Field("pages") }
        var tags: Field<[String]> { Field("tags") }
        var author: Field<Author> { Field("author") }
        var genre: Field<Genre> { Field("genre") }
        var embedding: Field<VectorValue> { Field("embedding") }
      }
      static let fields = Fields()
    }

    struct Plain: Codable {}
    """

  /// Snippets, and a part of what is said about each; nil for those that are right.
  private static let snippets: [(code: String, message: String?)] = [
    (#"_ = books.where { $0.pages > 400 && $0.author.name == "Herbert" }"#, nil),
    (#"_ = books.where(\.title == "Dune").order(by: \.pages).select(\.title, \.pages)"#, nil),
    (
      #"try await books.document("dune").update { $0.pages += 6; $0.title = "D"; $0.author.name.set("H") }"#,
      nil
    ),
    // Fields
    (
      #"_ = books.where { $0.titel == "Dune" }"#,
      "value of type 'FieldTable<Book>' has no dynamic member 'titel' using key path"
    ),
    (#"_ = books.where(\.titel == "Dune")"#, "cannot infer key path type from context"),
    (
      #"_ = books.where { $0.author.nmae == "Herbert" }"#,
      "value of type 'QueryField<Book, Author>' has no dynamic member 'nmae'"
    ),
    (#"_ = books.order(by: \.titel)"#, "value of type 'Book.Fields' has no member 'titel'"),
    (#"_ = books.select(\.titel)"#, "value of type 'Book.Fields' has no member 'titel'"),
    // Values
    (
      #"_ = books.where { $0.pages == "many" }"#,
      "cannot convert value of type 'String' to expected argument type 'Int'"
    ),
    (
      #"_ = books.where(\.pages > "many")"#,
      "cannot convert value of type 'String' to expected argument type 'Int'"
    ),
    (
      #"_ = books.where { $0.pages > 400.5 }"#,
      "cannot convert value of type 'Double' to expected argument type 'Int'"
    ),
    (
      #"_ = books.where { $0.genre == "novel" }"#,
      "cannot convert value of type 'String' to expected argument type 'Genre'"
    ),
    (#"_ = books.where { $0.genre == .essay }"#, "type 'Genre' has no member 'essay'"),
    (
      #"_ = books.where { $0.tags.contains(7) }"#,
      "cannot convert value of type 'Int' to expected argument type 'String'"
    ),
    (
      #"_ = books.where { $0.tags.contains(anyOf: "sand") }"#,
      "cannot convert value of type 'String' to expected argument type '[String]'"
    ),
    (
      #"_ = books.where { $0.pages.in(1) }"#,
      "cannot convert value of type 'Int' to expected argument type '[Int]'"
    ),
    // What queries cannot do
    (
      #"_ = books.where { $0.pages.hasPrefix("4") }"#,
      "requires that 'Int' conform to 'QueryableText'"
    ),
    (
      #"_ = books.where { !$0.title }"#,
      "cannot convert value of type"
    ),
    (
      #"_ = books.where { $0.pages }"#,
      "cannot convert value of type 'QueryField<Book, Int>' to closure result type 'Condition<Book>'"
    ),
    (
      #"_ = try await books.sum(\.title)"#,
      "instance method 'sum' requires that 'String' conform to 'Numeric'"
    ),
    (
      #"_ = try await books.average(\.tags)"#,
      "instance method 'average' requires that 'Array<String>' conform to 'Numeric'"
    ),
    (
      #"_ = books.findNearest(\.title, queryVector: VectorValue([1]), limit: 3, distanceMeasure: .cosine)"#,
      "no exact matches in call to instance method 'findNearest'"
    ),
    (
      #"_ = books.reference.of(Plain.self)"#,
      "instance method 'of' requires that 'Plain' conform to 'DocumentModel'"
    ),
    // Updates
    (
      #"try await books.document("dune").update { $0.title += 1 }"#,
      "cannot convert value of type 'FieldUpdate<String>' to expected argument type 'FieldUpdate<Int>'"
    ),
    (
      #"try await books.document("dune").update { $0.pages = "many" }"#,
      "cannot assign value of type 'String' to type 'FieldUpdate<Int>'"
    ),
    (
      #"try await books.document("dune").update { let pages: Int = $0.pages; _ = pages }"#,
      "An update does not read the document"
    ),
    (
      #"try await books.document("dune").update { $0.author.name = "Herbert" }"#,
      "set(_:) sets a field within a map."
    ),
    (
      #"try await books.document("dune").update { $0.title.setServerTimestamp() }"#,
      "value of type 'String' has no member 'setServerTimestamp'"
    ),
    // Results
    (
      #"try await books.document("dune").set(Author(name: "Herbert"))"#,
      "cannot convert value of type 'Author' to expected argument type 'Book'"
    ),
    (
      #"let author: Author? = try await books.document("dune").get(); _ = author"#,
      "cannot assign value of type 'Book?' to type 'Author?'"
    ),
    (
      #"let rows: [(String, String)] = try await books.select(\.title, \.pages).getDocuments(); _ = rows"#,
      "cannot assign value of type '[(String, Int)]' to type '[(String, String)]'"
    ),
    (
      #"for try await book in books.snapshots { _ = book.title }"#,
      "value of type '[Book]' has no member 'title'"
    ),
  ]

  @Test func `wrong queries and updates do not compile, and the compiler says why`() throws {
    let sources = Self.snippets.enumerated().map { index, snippet in
      """
      import Foundation
      import Hearth

      func snippet\(index)(_ books: TypedCollection<Book>) async throws {
        \(snippet.code)
      }
      """
    }
    let check = CompilerCheck(besides: Bundle.module)
    let messages = try check.errors(in: sources, models: Self.models)
    #expect(messages[0].isEmpty, "\(messages[0])")
    #expect(Self.snippets.count { $0.message != nil } >= 20)
    for (snippet, said) in zip(Self.snippets, messages.dropFirst()) {
      if let message = snippet.message {
        #expect(said.contains { $0.text.contains(message) }, "\(snippet.code): \(said)")
      } else {
        #expect(said.isEmpty, "\(snippet.code): \(said)")
      }
    }
  }
}
