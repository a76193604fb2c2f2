#if Macros
  import SwiftSyntax

  /// An enumeration. One with raw values is stored as its raw value; any other as a map with one
  /// field, named after the case, which holds a map of the associated values.
  struct EnumModel {
    private struct Case {
      let name: String
      /// Its field.
      let storedName: String
      var values: [AssociatedValue] = []
    }

    private struct AssociatedValue {
      /// Nil without one.
      let label: String?
      /// Nil if the keys of the case omit it: it keeps its default value.
      let storedName: String?
    }

    private let scope: Scope
    private let isRaw: Bool
    private let cases: [Case]

    init?(_ declaration: EnumDeclSyntax, _ scope: Scope, _ problems: inout Problems) {
      self.scope = scope
      if declaration.inheritanceClause.suppressesCopying {
        problems.report(at: declaration.name, "A document's type has to be copyable.")
        return nil
      }
      let members = declaration.memberBlock.members
      OwnCoding.report(in: members, of: declaration.name.plainName, &problems)
      members.reportConditions(&problems)
      let elements = members.compactMap { $0.decl.as(EnumCaseDeclSyntax.self) }
        .flatMap { Array($0.elements) }
      guard !elements.isEmpty else {
        if !problems.areFatal {
          problems.report(
            at: declaration.name, "An enumeration without cases has no values to store.")
        }
        return nil
      }
      let first = declaration.inheritanceClause?.inheritedTypes.first?.type
      let firstName = first?.trimmedDescription ?? ""
      isRaw = RawValues.types.contains(firstName) || firstName.hasPrefix("RawRepresentable")
      if isRaw {
        cases = []
        return
      }
      if let first, elements.contains(where: { $0.rawValue != nil }) {
        problems.report(
          at: first,
          "A document can hold raw values that are strings, integers or floating-point numbers.")
        return nil
      }
      let names = CodingNames("CodingKeys", in: members, &problems)
      var cases: [Case] = []
      var seen: Set<String> = []
      for element in elements {
        let name = element.name.plainName
        guard seen.insert(name).inserted else {
          problems.report(at: element.name, "Two cases are named '\(name)'. Rename one of them.")
          continue
        }
        guard let storedName = names.name(of: name, at: element.name, &problems) else {
          problems.report(
            at: element.name, "The case '\(name)' is not in CodingKeys.",
            fix: names.fix(adding: element.name.text))
          continue
        }
        cases.append(
          Case(
            name: element.name.text, storedName: storedName,
            values: Self.values(of: element, members, &problems)))
      }
      if !problems.areFatal { names.check(haveProperties: seen, &problems) }
      self.cases = cases
    }

    private static func values(
      of element: EnumCaseElementSyntax, _ members: MemberBlockItemListSyntax,
      _ problems: inout Problems
    ) -> [AssociatedValue] {
      guard let clause = element.parameterClause else { return [] }
      let caseName = element.name.plainName
      let keysName = caseName.prefix(1).uppercased() + caseName.dropFirst() + "CodingKeys"
      let names = CodingNames(keysName, in: members, &problems)
      var values: [AssociatedValue] = []
      var seen: Set<String> = []
      for (index, parameter) in clause.parameters.enumerated() {
        let label = parameter.firstName.flatMap { $0.tokenKind == .wildcard ? nil : $0 }
        let property = label?.plainName ?? "_\(index)"
        guard seen.insert(property).inserted else {
          problems.report(
            at: parameter, "Two associated values have the same field, \(literal(property)).")
          continue
        }
        guard StoredProperty.check(parameter.type, &problems) else { continue }
        let name = names.name(of: property, at: parameter, &problems)
        if name == nil, parameter.defaultValue == nil {
          problems.report(
            at: parameter, "\(keysName) has no '\(property)'.", fix: names.fix(adding: property))
          continue
        }
        values.append(AssociatedValue(label: label?.text, storedName: name))
      }
      if !problems.areFatal { names.check(haveProperties: seen, &problems) }
      return values
    }

    // MARK: Writing the extension

    var written: (conformances: [String], members: [String]) {
      if isRaw { return (["DocumentValueCodable"], []) }
      let access = scope.access.modifier
      var lines = [
        DocumentTable.text("\(access)static", "documentFields", cases.map(\.storedName), scope)
      ]
      // The extension's `nonisolated` does not count for types in it.
      lines.append("nonisolated fileprivate enum DocumentCases {")
      for (index, one) in cases.enumerated() {
        let names = one.values.compactMap(\.storedName)
        lines.append(DocumentTable.text("static", "case\(index)", names, scope))
      }
      lines.append("}")
      lines += writing
      lines += reading
      return (["DocumentValueCodable", "DocumentCodable"], lines)
    }

    private var writing: [String] {
      var lines = [
        "\(scope.access.modifier)func write(fields: borrowing DocumentMapWriter) throws(UseCodable) {",
        "switch self {",
      ]
      for (index, one) in cases.enumerated() {
        let bindings = one.values.enumerated().map { $1.storedName == nil ? "_" : "let value\($0)" }
        lines.append(
          bindings.isEmpty
            ? "case .\(one.name):" : "case .\(one.name)(\(bindings.joined(separator: ", "))):")
        lines.append("try fields.map(DocumentCases.case\(index), at: \(index)) {")
        lines.append("(values: borrowing DocumentMapWriter) throws(UseCodable) in")
        var position = 0
        for (number, value) in one.values.enumerated() where value.storedName != nil {
          lines.append("try values.write(value\(number), at: \(position))")
          position += 1
        }
        lines.append("}")
      }
      return lines + ["}", "}"]
    }

    private var reading: [String] {
      var lines = [
        "\(scope.access.modifier)init(fields: borrowing DocumentMapReader) throws(UseCodable) {",
        "switch try fields.onlyField() {",
      ]
      for (index, one) in cases.enumerated() {
        lines.append("case \(index):")
        lines.append("self = try fields.map(DocumentCases.case\(index), at: \(index)) {")
        lines.append("(values: borrowing DocumentMapReader) throws(UseCodable) -> Self in")
        var arguments: [String] = []
        for value in one.values where value.storedName != nil {
          let label = value.label.map { "\($0): " } ?? ""
          arguments.append("\(label)try values.read(at: \(arguments.count))")
        }
        let list = one.values.isEmpty ? "" : "(\(arguments.joined(separator: ", ")))"
        lines.append("Self.\(one.name)\(list)")
        lines.append("}")
      }
      return lines + ["default: throw UseCodable()", "}", "}"]
    }
  }
#endif
