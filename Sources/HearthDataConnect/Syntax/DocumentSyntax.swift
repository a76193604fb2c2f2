/// A place in a source file.
struct Position: Hashable, Sendable {
  /// The index of the file among those of the run.
  var file: Int
  /// From 1.
  var line: Int
  /// In Unicode scalars, from 1.
  var column: Int
}

/// A name with its place.
struct Name: Hashable, Sendable {
  var text: String
  var position: Position
}

/// The definitions of one file.
struct DocumentSyntax: Sendable {
  var types: [TypeDefinitionSyntax] = []
  var operations: [OperationSyntax] = []
  var fragments: [FragmentSyntax] = []
}

// MARK: - Values and types

struct ValueSyntax: Sendable {
  indirect enum Kind: Sendable {
    case null
    case bool(Bool)
    /// As written.
    case int(String)
    /// As written.
    case float(String)
    case string(String)
    case name(String)
    case variable(String)
    case list([ValueSyntax])
    case object([ArgumentSyntax])
  }

  var kind: Kind
  var position: Position

  /// The elements of a list. A single value counts as a list of one.
  var elements: [ValueSyntax] { if case .list(let elements) = kind { elements } else { [self] } }

  /// A string, with its place.
  var string: Name? {
    if case .string(let text) = kind { Name(text: text, position: position) } else { nil }
  }
}

/// `name: value`, of a field, a directive or an object.
struct ArgumentSyntax: Sendable {
  var name: Name
  var value: ValueSyntax
}

extension [ArgumentSyntax] {
  subscript(_ name: String) -> ValueSyntax? { first { $0.name.text == name }?.value }
}

struct DirectiveSyntax: Sendable {
  /// Without `@`; the position is that of `@`.
  var name: Name
  var arguments: [ArgumentSyntax]
}

struct TypeSyntax: Sendable {
  indirect enum Kind: Sendable {
    case named(String)
    case list(TypeSyntax)
  }

  var kind: Kind
  var isNullable: Bool
  var position: Position

  /// The name inside of all lists.
  var innermostName: String {
    switch kind {
    case .named(let name): name
    case .list(let element): element.innermostName
    }
  }
}

// MARK: - Executable definitions

struct OperationSyntax: Sendable {
  enum Kind: String, Sendable {
    case query, mutation, subscription
  }

  var kind: Kind
  var name: Name?
  var variables: [VariableSyntax]
  var directives: [DirectiveSyntax]
  var selections: [SelectionSyntax]
  var position: Position
}

struct VariableSyntax: Sendable {
  /// Without `$`; the position is that of `$`.
  var name: Name
  var type: TypeSyntax
  var defaultValue: ValueSyntax?
  var directives: [DirectiveSyntax]
}

struct FragmentSyntax: Sendable {
  var name: Name
  var typeCondition: Name
  var directives: [DirectiveSyntax]
  var selections: [SelectionSyntax]
}

enum SelectionSyntax: Sendable {
  case field(FieldSyntax)
  /// `...Name`
  case spread(Name, [DirectiveSyntax])
  /// `... on Type { }`
  case inline(typeCondition: Name?, [DirectiveSyntax], [SelectionSyntax], Position)
}

struct FieldSyntax: Sendable {
  var alias: Name?
  var name: Name
  var arguments: [ArgumentSyntax]
  var directives: [DirectiveSyntax]
  /// Nil without braces.
  var selections: [SelectionSyntax]?

  var responseKey: Name { alias ?? name }
}

// MARK: - Type system definitions

struct TypeDefinitionSyntax: Sendable {
  enum Kind: String, Sendable {
    case object = "type"
    case enumeration = "enum"
    case input, scalar, interface, union, directive, schema
  }

  var kind: Kind
  var isExtension: Bool
  /// Of `schema` the keyword.
  var name: Name
  var interfaces: [Name] = []
  var directives: [DirectiveSyntax] = []
  /// Of objects, interfaces, inputs; the arguments of a directive.
  var fields: [FieldDefinitionSyntax] = []
  var values: [EnumValueSyntax] = []
}

struct FieldDefinitionSyntax: Sendable {
  var name: Name
  var arguments: [FieldDefinitionSyntax] = []
  var type: TypeSyntax
  var directives: [DirectiveSyntax]
}

struct EnumValueSyntax: Sendable {
  var name: Name
  var directives: [DirectiveSyntax]
}
