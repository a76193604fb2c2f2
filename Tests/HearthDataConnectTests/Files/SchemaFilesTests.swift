import DataConnectModel
import Testing

@testable import HearthDataConnect

@Suite struct `Files for editors` {
  static let schemas = [
    Fixtures.guideSchema, Fixtures.realtimeSchema, Fixtures.recipeSchema, Fixtures.sinkSchema,
  ]

  /// The definitions of the schema and its generated files.
  private func definitions(_ schema: String) throws -> [TypeDefinitionSyntax] {
    let source = SourceFile(path: "schema.gql", text: schema)
    let files = DataConnectCompiler().schemaFiles(for: [source])
    #expect(
      files.map(\.path) == [
        "prelude.gql", "main/implicit.gql", "main/relation.gql", "main/query.gql",
        "main/mutation.gql", "main/input.gql",
      ])
    let session = CompilerSession(
      options: CompilerOptions(), paths: (files + [source]).map(\.path))
    let documents = (files + [source]).enumerated().map {
      Parser.parse($0.element.text, file: $0.offset, in: session)
    }
    #expect(session.diagnostics == [])
    return documents.flatMap(\.types)
  }

  @Test(arguments: schemas)
  func `the files parse, and every name in them is defined once`(schema: String) throws {
    let all = try definitions(schema)
    var defined: Set<String> = ["String", "Int", "Float", "Boolean", "ID"]
    for type in all where !type.isExtension && type.kind != .directive {
      #expect(defined.insert(type.name.text).inserted, "\(type.name.text) is defined twice.")
    }
    for type in all {
      if type.isExtension { #expect(defined.contains(type.name.text)) }
      for field in type.fields {
        for used in [field.type] + field.arguments.map(\.type) {
          #expect(defined.contains(used.innermostName), "\(type.name.text).\(field.name.text)")
        }
      }
    }
  }

  @Test(arguments: schemas)
  func `every field, argument and input that the compiler accepts is in them`(
    schema text: String
  ) throws {
    let connector = try #require(Fixtures.compile(text).connector)
    let types = InputTypes(schema: connector.schema)
    var fields: [String: [String: FieldDefinitionSyntax]] = [:]
    for type in try definitions(text) {
      for field in type.fields { fields[type.name.text, default: [:]][field.name.text] = field }
    }
    func expect(_ object: InputObject, _ written: [FieldDefinitionSyntax]) {
      #expect(Set(object.fields.map(\.name)) == Set(written.map(\.name.text)), "\(object.name)")
    }
    for root in types.rootFields {
      let field = fields[root.kind == .query ? "Query" : "Mutation"]?[root.name]
      expect(root.arguments, field?.arguments ?? [])
      #expect(field != nil, "\(root.name)")
    }
    for object in InputTypes.builtIn + types.enumObjects + types.tableObjects {
      expect(object, Array(try #require(fields[object.name], "\(object.name)").values))
    }
    for table in connector.schema.tables {
      let all = TableFields(table: table, relations: types.relations[table.typeName] ?? [])
      for field in all.fields {
        let written = fields[table.typeName]?[field.name]
        #expect(written != nil, "\(table.typeName).\(field.name)")
        if !field.arguments.fields.isEmpty { expect(field.arguments, written?.arguments ?? []) }
      }
    }
    for directive in DirectiveDefinition.all where !["skip", "include"].contains(directive.name) {
      expect(directive.arguments, Array((fields[directive.name] ?? [:]).values))
    }
  }

  @Test func `a schema with errors has no files`() {
    let source = SourceFile(path: "schema.gql", text: "type A {")
    #expect(DataConnectCompiler().schemaFiles(for: [source]) == [])
  }

  @Test func `strings are written with their escapes`() {
    #expect(
      SchemaFiles.write(literal: .string("a\"b\\c\nd\u{1}é")) == #""a\"b\\c\nd\u0001é""#)
  }
}
