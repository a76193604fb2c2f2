import DataConnectModel
internal import HearthText

/// Builds the tables and enums of a schema from its definitions.
///
///     definitions ─▶ drafts (one per type, extensions merged)
///                      │ keys and references, which need each other, are resolved on demand
///                      ▼
///                    tables ─▶ checks of names that clash
///
/// A part with an error is left out, and its name is kept in `broken`, so that operations that use
/// it are not reported a second time.
struct SchemaBuilder {
  final class Draft {
    let name: Name
    var directives: [DirectiveSyntax]
    var fields: [FieldDefinitionSyntax] = []
    var fieldsByName: [String: FieldDefinitionSyntax] = [:]
    /// Of `@table`.
    var tableArguments: [Literal.Member] = []
    var keyNames: [Name]?
    var key = Resolution<[KeyColumn]>.open
    /// 1 without references in the key, otherwise one more than the largest of their keys.
    var keyDepth = 1
    var foreign: [String: Resolution<[ForeignColumn]>] = [:]

    init(_ definition: TypeDefinitionSyntax) {
      name = definition.name
      directives = definition.directives
    }
  }

  /// States of a part that is resolved on demand: open → active → done or failed.
  enum Resolution<Value> {
    case open
    case active
    case done(Value)
    /// The error is reported.
    case failed
  }

  struct KeyColumn {
    var name: String
    var type: ValueType
  }

  struct ForeignColumn {
    var name: String
    var target: KeyColumn
  }

  /// Of keys that refer to keys.
  static let maximumKeyNesting = 32
  static let maximumKeyColumns = 32
  /// Of references to columns of references.
  static let maximumReferenceNesting = 64

  let session: CompilerSession
  var keyNesting = 0
  var referenceNesting = 0
  var drafts: [Draft] = []
  var draftsByName: [String: Draft] = [:]
  var enums: [EnumType] = []
  /// Places of columns and references, by type.
  var fieldPositions: [String: [String: Position]] = [:]

  /// Builds the schema, and sets the session's enums, tables and input types.
  mutating func build(_ documents: [DocumentSyntax]) -> Schema {
    collect(documents.flatMap(\.types))
    for draft in drafts { checkTableDirective(of: draft) }
    let tables = drafts.map { table(of: $0) }
    let schema = Schema(tables: withOneToOne(tables), enums: enums)
    session.types = InputTypes(schema: schema)
    for table in schema.tables {
      session.tables[table.typeName] = TableFields(
        table: table, relations: session.types.relations[table.typeName] ?? [])
    }
    checkClashes(schema)
    return schema
  }

  // MARK: - Definitions

  static let reservedTypeNames: Set<String> = {
    var names: Set = ["ID", "True", "Void", "Query", "Mutation", "Subscription"]
    names.formUnion(ValueType.scalars.map(\.name))
    names.formUnion(InputTypes.builtIn.map(\.name))
    names.formUnion(DirectiveDefinition.choices.map(\.name))
    return names
  }()

  mutating func collect(_ definitions: [TypeDefinitionSyntax]) {
    var enumSyntax: [String: TypeDefinitionSyntax] = [:]
    var enumOrder: [String] = []
    var first: [String: TypeDefinitionSyntax] = [:]
    for definition in definitions where !definition.isExtension {
      let name = definition.name
      switch definition.kind {
      case .object, .enumeration: break
      default:
        refuse(definition)
        continue
      }
      if let other = first[name.text] {
        session.error(
          "\(name.text) is defined twice, first in line \(other.name.position.line): use one name "
            + "for one type.", at: name.position)
        continue
      }
      first[name.text] = definition
      if name.text.hasPrefix("_") || Self.reservedTypeNames.contains(name.text) {
        session.brokenTypes.insert(name.text)
        session.error(
          ["Query", "Mutation", "Subscription"].contains(name.text)
            ? "The fields of \(name.text) are generated from the tables: remove this type."
            : "\(name.text) is a reserved name: use another one.", at: name.position)
        continue
      }
      if definition.kind == .enumeration {
        enumSyntax[name.text] = definition
        enumOrder.append(name.text)
      } else {
        addDraft(definition)
      }
    }
    for definition in definitions where definition.isExtension {
      let name = definition.name
      let known: (kind: String, names: [String])
      switch definition.kind {
      case .object:
        if let draft = draftsByName[name.text] {
          draft.directives += definition.directives
          add(definition.fields, to: draft)
          continue
        }
        known = ("type", Array(draftsByName.keys))
      case .enumeration:
        if enumSyntax[name.text] != nil {
          enumSyntax[name.text]?.values += definition.values
          continue
        }
        known = ("enum", Array(enumSyntax.keys))
      default:
        refuse(definition)
        continue
      }
      if session.brokenTypes.contains(name.text) { continue }
      session.error(
        "There is no \(known.kind) \(name.text) to extend."
          + session.suggestion(for: name.text, among: known.names, otherwise: "Define it first."),
        at: name.position)
    }
    for name in enumOrder {
      if let definition = enumSyntax[name] { addEnum(definition) }
    }
  }

  mutating func refuse(_ definition: TypeDefinitionSyntax) {
    session.brokenTypes.insert(definition.name.text)
    let remedy =
      switch definition.kind {
      case .input: "inputs are generated from the tables; pass the values as variables"
      case .scalar: "use a built-in scalar, or Any for values of any form"
      case .interface: "repeat the fields in each type"
      case .union: "refer to each table with a reference of its own"
      case .directive: "use the directives of the dialect"
      default: "the root types are generated from the tables"
      }
    let keyword = definition.kind.rawValue
    session.error(
      "A schema has no `\(keyword)` definitions: \(remedy).", at: definition.name.position)
  }

  mutating func addEnum(_ definition: TypeDefinitionSyntax) {
    let name = definition.name
    if name.text.contains("_") {
      session.error(
        "The name of an enum has no underscore: write \(Self.pascalCase(name.text)).",
        at: name.position)
    } else if !Naming.isPascalCase(name.text) {
      session.warning(
        "Enums begin with a capital letter: write \(Naming.upperFirst(name.text)).",
        at: name.position)
    }
    for directive in definition.directives {
      _ = session.arguments(of: directive, at: .enumeration)
    }
    if definition.values.isEmpty {
      session.error("The enum \(name.text) has no values: add one.", at: name.position)
    }
    var values: [String] = []
    for value in definition.values {
      let text = value.name.text
      for directive in value.directives { _ = session.arguments(of: directive, at: .enumValue) }
      if values.contains(text) {
        session.error("\(text) is given twice: keep one.", at: value.name.position)
      } else if text.hasPrefix("_") || ["true", "false", "null"].contains(text) {
        session.error("\(text) is a reserved name: use another value.", at: value.name.position)
      } else {
        if !Naming.isUpperSnakeCase(text) {
          session.warning(
            "Values of enums are upper case: write "
              + "\(Naming.snakeCase(text).uppercased()).", at: value.name.position)
        }
        values.append(text)
      }
    }
    let type = EnumType(name: name.text, values: values)
    enums.append(type)
    session.enums[name.text] = type
  }

  static func pascalCase(_ name: String) -> String {
    name.split(separator: "_").map { Naming.upperFirst(String($0)) }.joined()
  }

  mutating func addDraft(_ definition: TypeDefinitionSyntax) {
    let name = definition.name.text
    if definition.directives.contains(where: { $0.name.text == "view" }) {
      session.brokenTypes.insert(name)
      session.error(
        "Views are SQL, which is not supported: select and filter the tables in a query of the "
          + "connector.", at: definition.name.position)
      return
    }
    if !definition.interfaces.isEmpty {
      session.error(
        "Interfaces are not supported: remove `implements`.",
        at: definition.interfaces[0].position)
    }
    let draft = Draft(definition)
    drafts.append(draft)
    draftsByName[name] = draft
    add(definition.fields, to: draft)
  }

  mutating func add(_ fields: [FieldDefinitionSyntax], to draft: Draft) {
    for field in fields {
      let name = field.name
      guard draft.fieldsByName[name.text] == nil else {
        session.error(
          "\(draft.name.text) has two fields \(name.text): keep one.", at: name.position)
        continue
      }
      guard !name.text.hasPrefix("_") else {
        markBroken(name.text, of: draft)
        session.error(
          "Names that begin with _ are reserved: write \(name.text.drop { $0 == "_" }).",
          at: name.position)
        continue
      }
      draft.fields.append(field)
      draft.fieldsByName[name.text] = field
      fieldPositions[draft.name.text, default: [:]][name.text] = name.position
    }
  }

  mutating func markBroken(_ field: String, of draft: Draft) {
    session.brokenFields[draft.name.text, default: []].insert(field)
  }

  // MARK: - @table

  func checkTableDirective(of draft: Draft) {
    session.checkRepetition(of: draft.directives)
    guard let directive = draft.directives.first(where: { $0.name.text == "table" }) else {
      session.error("The type \(draft.name.text) is no table: add @table.", at: draft.name.position)
      return
    }
    draft.tableArguments = session.arguments(of: directive, at: .object) ?? []
    for name in ["singular", "plural"] {
      guard let text = draft.tableArguments.string(name), !Self.isFieldName(text) else { continue }
      session.error(
        "\"\(text)\" is no name of a field: use letters, digits and _, and begin with a letter.",
        at: directive.position(of: name))
      draft.tableArguments.removeAll { $0.name == name }
    }
    if let text = draft.tableArguments.string("name"),
      text.isEmpty || text.contains("/") || text == "." || text == ".."
        || (text.hasPrefix("__") && text.hasSuffix("__"))
    {
      session.error(
        "\"\(text)\" is no id of a collection: use letters, digits and _.",
        at: directive.position(of: "name"))
      draft.tableArguments.removeAll { $0.name == "name" }
    }
    draft.keyNames = directive.names("key")
    if let names = draft.keyNames, names.isEmpty {
      session.error(
        "The key is empty: name a column, or leave key out.", at: directive.position(of: "key"))
      draft.keyNames = nil
    }
  }

  static func isFieldName(_ text: String) -> Bool {
    text.first?.isLetter == true && text.utf8.allSatisfy(\.isASCIIWord)
  }
}
