#if Macros
  import SwiftSyntax

  /// A structure, which is stored as a map.
  struct StructModel {
    private struct StoredField {
      let name: String
      let property: StoredProperty
      /// In `documentFields`.
      var index = 0
    }

    private let typeName: String
    private let scope: Scope
    private let isRaw: Bool
    /// In the order of the properties.
    private var fields: [StoredField] = []

    init?(_ declaration: StructDeclSyntax, _ scope: Scope, _ problems: inout Problems) {
      typeName = declaration.name.text
      self.scope = scope
      let members = declaration.memberBlock.members
      isRaw = RawValues.areStored(declaration.inheritanceClause, members)
      if declaration.inheritanceClause.suppressesCopying {
        problems.report(at: declaration.name, "A document's type has to be copyable.")
        return nil
      }
      OwnCoding.report(in: members, of: declaration.name.plainName, &problems)
      members.reportConditions(&problems)
      if isRaw { return }
      TakenNames.report(in: members, &problems)
      let names = CodingNames("CodingKeys", in: members, &problems)
      var properties: [StoredProperty] = []
      for member in members {
        guard let variable = member.decl.as(VariableDeclSyntax.self) else { continue }
        properties += StoredProperty.all(in: variable, &problems)
      }
      // A property with a problem may have a key.
      if !problems.areFatal {
        names.check(haveProperties: Set(properties.map(\.plainName)), &problems)
      }
      if let wrapped = properties.first(where: { $0.hasForeignWrapper }),
        properties.contains(where: \.hasDefaultValue)
      {
        problems.report(
          at: wrapped.node.pattern,
          "@Document cannot write 'init(from:)' for a property with @\(wrapped.wrapper ?? ""). Where "
            + "there is one, properties have no default values for missing fields.")
      }
      for property in properties {
        let pattern = property.node.pattern
        if let name = names.name(of: property.plainName, at: pattern, &problems) {
          fields.append(StoredField(name: name, property: property))
        } else if !property.hasInitialValue, !property.isOptional {
          problems.report(
            at: pattern, "'\(property.plainName)' is not in CodingKeys and has no default value.",
            fix: names.fix(adding: property.name))
        }
      }
      // Maps have their names in the order of the bytes.
      let sorted = fields.indices.sorted {
        fields[$0].name.utf8.lexicographicallyPrecedes(fields[$1].name.utf8)
      }
      for (rank, index) in sorted.enumerated() { fields[index].index = rank }
    }

    // MARK: Writing the members

    /// An extension, which names no types.
    var written: (conformances: [String], members: [String]) {
      if isRaw { return (["DocumentValueCodable"], []) }
      let access = scope.access.modifier
      let sorted = fields.sorted { $0.index < $1.index }
      var lines = [
        DocumentTable.text("\(access)static", "documentFields", sorted.map(\.name), scope)
      ]
      lines.append("\(access)func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {")
      for field in sorted {
        let label = field.property.wrapper == nil ? "" : "wrapper: "
        lines.append(
          "try fields.write(\(label)self.\(field.property.storage), at: \(field.index))")
      }
      lines.append("}")

      lines.append("\(access)init(fields: borrowing DocumentMapReader) throws(UseCodable) {")
      lines += reads
      lines.append("}")
      if fields.contains(where: \.property.hasDefaultValue) { lines += codableInit }
      return (["DocumentValueCodable", "DocumentCodable", "DocumentModel"], lines)
    }

    /// Reads the values, then assigns them: a value that is complete after the last error is made
    /// where it is returned, and not copied there.
    private var reads: [String] {
      var lines: [String] = []
      var assignments: [String] = []
      for field in fields where !field.property.isNeverRead {
        let (property, index) = (field.property, field.index)
        func value(_ type: String) -> String {
          switch property.wrapper {
          case nil: "try fields.read(\(type)at: \(index))"
          // As any optional: the type inside may be one that only `Codable` reads.
          case "ExplicitNull": ".init(wrappedValue: try fields.read(at: \(index)))"
          default: "try fields.read(\(type)wrapperAt: \(index))"
          }
        }
        if property.hasDefaultValue {
          lines += [
            "if try fields.isStored(at: \(index)) {", "self.\(property.storage) = \(value(""))",
            "}",
          ]
          continue
        }
        // An extension cannot name types that are nested where the type is declared.
        lines.append("let type\(index) = DocumentFields<Self>.type { $0.\(property.storage) }")
        let isNull = property.wrapper == "ExplicitNull"
        lines.append(
          isNull
            ? "let value\(index) = type\(index)\(value(""))"
            : "let value\(index) = \(value("type\(index), "))")
        assignments.append("self.\(property.storage) = value\(index)")
      }
      return lines + assignments
    }

    /// As the compiler would write it, with the default values.
    private var codableInit: [String] {
      var lines = [
        "\(scope.access.modifier)init(from decoder: any Decoder) throws {",
        "let fields = try decoder.container(keyedBy: DocumentFieldKey.self)",
      ]
      for field in fields where !field.property.isNeverRead {
        let property = field.property
        let key = literal(field.name)
        if property.hasDefaultValue { lines.append("if fields.contains(\(key)) {") }
        let label = property.wrapper == nil ? "field" : "wrapper"
        lines.append("self.\(property.storage) = try fields.decode(\(label): \(key))")
        if property.hasDefaultValue { lines.append("}") }
      }
      lines.append("}")
      return lines
    }

    /// For queries and updates. In the type itself, where the names of types mean what they mean
    /// there. Nonisolated, also in a type of the main actor: queries are made anywhere.
    var fieldTable: [String] {
      if isRaw { return [] }
      let access = scope.access
      var lines = ["nonisolated \(access.modifier)struct Fields: Sendable {"]
      for field in fields where !field.property.isPrivate {
        let property = field.property
        // Its type may be private to the file.
        let modifier =
          property.access == .file
          ? "fileprivate " : min(access, property.access ?? .module).modifier
        let value =
          property.wrapper == "DocumentID" ? ".documentID" : "Field(\(literal(field.name)))"
        // `Self` would be the table.
        let type = property.type.replacing(/\bSelf\b/, with: typeName)
        lines.append("\(modifier)var \(property.name): Field<\(type)> { \(value) }")
      }
      lines.append("}")
      return [
        lines.joined(separator: "\n"),
        "nonisolated \(access.modifier)static var fields: Fields { Fields() }",
      ]
    }
  }

  /// `DocumentFields`: stored, or computed where a type can have no stored static properties.
  enum DocumentTable {
    static func text(
      _ modifiers: String, _ name: String, _ fields: [String], _ scope: Scope
    ) -> String {
      let names = fields.map(literal).joined(separator: ", ")
      return scope.isGeneric
        ? "\(modifiers) var \(name): DocumentFields<Self> { DocumentFields(\(names)) }"
        : "\(modifiers) let \(name) = DocumentFields<Self>(\(names))"
    }
  }

  /// Types that `Codable` writes as their raw values.
  enum RawValues {
    /// The types of raw values for which the standard library does so.
    static let types: Set<String> = [
      "Bool", "String", "Double", "Float", "Int", "Int8", "Int16", "Int32", "Int64", "UInt",
      "UInt8", "UInt16", "UInt32", "UInt64",
    ]

    /// - Parameter members: Of a structure.
    static func areStored(
      _ clause: InheritanceClauseSyntax?, _ members: MemberBlockItemListSyntax
    ) -> Bool {
      for inherited in clause?.inheritedTypes ?? [] {
        let name = inherited.type.trimmedDescription
        guard name.hasPrefix("RawRepresentable") || name == "OptionSet" else { continue }
        let type = members.lazy.compactMap { $0.decl.as(VariableDeclSyntax.self) }
          .flatMap(\.bindings)
          .first { $0.pattern.trimmedDescription == "rawValue" }?
          .typeAnnotation?.type.trimmedDescription
        return type.map(types.contains) ?? true
      }
      return false
    }
  }

  /// Members with the names of those that the macro writes: the compiler would report them in code that
  /// nobody sees.
  enum TakenNames {
    /// The types that the written code names, and the one that it declares.
    private static let types: Set<String> = ["Field", "Fields"]
    /// The static properties that it declares.
    private static let properties: Set<String> = ["fields", "documentFields"]

    static func report(in members: MemberBlockItemListSyntax, _ problems: inout Problems) {
      func report(_ name: TokenSyntax) {
        problems.report(
          at: name,
          "@Document writes code that uses the name '\(name.plainName)' for something else.")
      }
      for member in members {
        if let variable = member.decl.as(VariableDeclSyntax.self) {
          for binding in variable.bindings {
            guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier,
              types.contains(name.plainName)
                || variable.modifiers.has(.static) && properties.contains(name.plainName)
            else { continue }
            report(name)
          }
        } else if let function = member.decl.as(FunctionDeclSyntax.self) {
          let hasParameters = !function.signature.parameterClause.parameters.isEmpty
          let name = function.name.plainName
          if types.contains(name)
            || function.modifiers.has(.static) && !hasParameters && properties.contains(name)
          {
            report(function.name)
          }
        } else if let name = member.decl.asProtocol((any NamedDeclSyntax).self)?.name,
          types.contains(name.plainName) || name.plainName == "Decoder"
        {
          report(name)
        }
      }
    }
  }

  /// Coding that a type has written itself.
  enum OwnCoding {
    static func report(
      in members: MemberBlockItemListSyntax, of type: String, _ problems: inout Problems
    ) {
      func report(
        at token: TokenSyntax, _ signature: FunctionSignatureSyntax, _ label: String,
        _ coder: String, does what: String
      ) {
        let parameters = signature.parameterClause.parameters
        guard parameters.count == 1, let parameter = parameters.first,
          parameter.firstName.text == label, parameter.type.trimmedDescription.hasSuffix(coder)
        else { return }
        problems.report(
          at: token,
          "@Document \(what) '\(type)' as the compiler's '\(token.text)(\(label):)' would, and not as "
            + "this one. Remove one of them, or conform to DocumentCodable by hand.")
      }
      for member in members {
        if let initializer = member.decl.as(InitializerDeclSyntax.self) {
          report(
            at: initializer.initKeyword, initializer.signature, "from", "Decoder", does: "reads")
        } else if let function = member.decl.as(FunctionDeclSyntax.self),
          function.name.text == "encode"
        {
          report(at: function.name, function.signature, "to", "Encoder", does: "writes")
        }
      }
    }
  }
#endif
