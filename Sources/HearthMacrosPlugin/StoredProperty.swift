#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import SwiftSyntaxBuilder

  /// A stored property of a structure.
  struct StoredProperty {
    let name: String
    /// Without the backticks that an escaped name needs.
    var plainName: String { TokenSyntax.identifier(name).plainName }
    /// Of the wrapped value, for a wrapped property.
    let type: String
    let isOptional: Bool
    /// Such as `ServerTimestamp`.
    let wrapper: String?
    let hasInitialValue: Bool
    let isConstant: Bool
    /// Nil if none is written.
    let access: Access?
    let isPrivate: Bool
    let node: PatternBindingSyntax

    private static let ownWrappers: Set<String> = ["DocumentID", "ServerTimestamp", "ExplicitNull"]

    /// The stored property of each binding.
    static func all(
      in declaration: VariableDeclSyntax, _ problems: inout Problems
    ) -> [StoredProperty] {
      let modifiers = declaration.modifiers
      guard !modifiers.has(.static), !modifiers.has(.class) else { return [] }
      // An array: the collection's own `filter` would make a copy outside of the source.
      let bindings = Array(declaration.bindings).filter { !isComputed($0) }
      guard !bindings.isEmpty else { return [] }
      for keyword in [Keyword.lazy, .weak, .unowned] {
        guard let modifier = modifiers.first(where: { $0.name.tokenKind == .keyword(keyword) })
        else { continue }
        let word = modifier.name.text
        var changed = declaration
        changed.modifiers = modifiers.filter { $0.name.tokenKind != .keyword(keyword) }
        if changed.modifiers.isEmpty {
          changed.bindingSpecifier.leadingTrivia = declaration.leadingTrivia
        }
        problems.report(
          at: modifier, "A document cannot have a field for a property that is \(word).",
          fix: .replace(declaration, with: changed, "remove '\(word)'"))
        return []
      }
      return properties(declaration, bindings, &problems)
    }

    private static func properties(
      _ declaration: VariableDeclSyntax, _ bindings: [PatternBindingSyntax],
      _ problems: inout Problems
    ) -> [StoredProperty] {
      var wrappers: [AttributeSyntax] = []
      for element in declaration.attributes {
        if let condition = element.as(IfConfigDeclSyntax.self) {
          problems.report(
            at: condition.clauses.first?.poundKeyword ?? .poundIfToken(),
            "@Document does not see which attributes of '#if' there are.")
          return []
        }
        if let attribute = element.as(AttributeSyntax.self), isWrapper(attribute) {
          wrappers.append(attribute)
        }
      }
      if wrappers.count > 1 {
        problems.report(
          at: wrappers[1],
          "@Document reads and writes a property through one wrapper, not through several.")
        return []
      }
      var found: [StoredProperty] = []
      // `var a, b: Int`: a later annotation counts for those before it.
      var annotation: TypeSyntax?
      for binding in bindings.reversed() {
        annotation = binding.typeAnnotation?.type ?? (binding.initializer == nil ? annotation : nil)
        if let property = StoredProperty(
          binding, annotation, of: declaration, wrappers.first, &problems)
        {
          found.append(property)
        }
      }
      return found.reversed()
    }

    private init?(
      _ binding: PatternBindingSyntax, _ annotation: TypeSyntax?,
      of declaration: VariableDeclSyntax, _ attribute: AttributeSyntax?, _ problems: inout Problems
    ) {
      guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
        problems.report(at: binding.pattern, "Give each field a property of its own.")
        return nil
      }
      name = pattern.identifier.text
      node = binding
      access = declaration.modifiers.access
      isPrivate = declaration.modifiers.contains {
        $0.name.tokenKind == .keyword(.private) && $0.detail == nil
      }
      let value = binding.initializer?.value
      hasInitialValue = value != nil
      isConstant = declaration.bindingSpecifier.tokenKind == .keyword(.let)
      wrapper = attribute.map { Self.baseName(of: $0.attributeName) }
      isOptional = annotation.map { Self.wrapped(in: $0) != nil } ?? false
      if let annotation {
        guard Self.check(annotation, &problems) else { return nil }
        // `Int!` is `Int?` to `Codable`.
        type =
          annotation.as(ImplicitlyUnwrappedOptionalTypeSyntax.self)
          .map { "\($0.wrappedType.trimmedDescription)?" } ?? annotation.trimmedDescription
      } else if let value, let inferred = Self.inferredType(of: value) {
        type = inferred
      } else if value != nil, isPrivate {
        // It is not in the table of fields.
        type = ""
      } else {
        var changed = binding
        changed.pattern.trailingTrivia = []
        changed.typeAnnotation = TypeAnnotationSyntax(
          colon: .colonToken(trailingTrivia: .space), type: TypeSyntax("<#Type#>"),
          trailingTrivia: .space)
        problems.report(
          at: binding.pattern,
          "@Document does not see the type of '\(pattern.identifier.plainName)'. Write it down.",
          fix: .replace(binding, with: changed, "add a type"))
        return nil
      }
      if let wrapper, Self.ownWrappers.contains(wrapper), !isOptional, let annotation {
        let changed = TypeSyntax(
          OptionalTypeSyntax(
            wrappedType: annotation.trimmed, trailingTrivia: annotation.trailingTrivia))
        problems.report(
          at: annotation, "A property with @\(wrapper) has to be optional.",
          fix: .replace(annotation, with: changed, "make it optional"))
        return nil
      }
    }

    /// The variable that is read and written: the wrapper, for a wrapped property.
    var storage: String { wrapper == nil ? name : "_\(plainName)" }
    /// `let` with a value: written, and never read.
    var isNeverRead: Bool { isConstant && hasInitialValue }
    /// Missing fields have the initial value. Optionals have none: nil is a missing field.
    var hasDefaultValue: Bool {
      hasInitialValue && !isConstant && wrapper == nil && !isOptional
    }

    var hasForeignWrapper: Bool { wrapper.map { !Self.ownWrappers.contains($0) } ?? false }

    // MARK: Kinds of properties

    /// Observers make no property computed.
    private static func isComputed(_ binding: PatternBindingSyntax) -> Bool {
      switch binding.accessorBlock?.accessors {
      case nil: return false
      case .getter: return true
      case .accessors(let accessors):
        return accessors.contains { accessor in
          switch accessor.accessorSpecifier.tokenKind {
          case .keyword(.willSet), .keyword(.didSet): false
          default: true
          }
        }
      }
    }

    /// Any attribute of a stored property that is capitalized and not known is a property wrapper.
    private static func isWrapper(_ attribute: AttributeSyntax) -> Bool {
      let name = baseName(of: attribute.attributeName)
      return name.first?.isUppercase == true && name != "MainActor"
    }

    /// Without a module, and without arguments.
    private static func baseName(of type: TypeSyntax) -> String {
      type.as(IdentifierTypeSyntax.self)?.name.text ?? type.as(MemberTypeSyntax.self)?.name.text
        ?? type.trimmedDescription
    }

    /// Nil if the type is not optional.
    private static func wrapped(in type: TypeSyntax) -> TypeSyntax? {
      if let optional = type.as(OptionalTypeSyntax.self) { return optional.wrappedType }
      if let optional = type.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
        return optional.wrappedType
      }
      if baseName(of: type) == "Optional" { return type }
      return nil
    }

    /// Reports a type that no document can hold.
    static func check(_ type: TypeSyntax, _ problems: inout Problems) -> Bool {
      let reason: String
      if let tuple = type.as(TupleTypeSyntax.self) {
        if tuple.elements.count == 1, let only = tuple.elements.first {
          return check(only.type, &problems)
        }
        reason = "a tuple; make it a structure"
      } else if type.is(FunctionTypeSyntax.self) {
        reason = "a function"
      } else if let attributed = type.as(AttributedTypeSyntax.self) {
        return check(attributed.baseType, &problems)
      } else if type.is(SomeOrAnyTypeSyntax.self) {
        reason = "a protocol; make it an enumeration"
      } else if type.is(MetatypeTypeSyntax.self) {
        reason = "a metatype"
      } else if let name = type.as(IdentifierTypeSyntax.self)?.name.text,
        ["Any", "AnyObject", "AnyHashable"].contains(name)
      {
        reason = "\(name), which is not Codable"
      } else if let wrapped = wrapped(in: type), !type.is(IdentifierTypeSyntax.self),
        !type.is(MemberTypeSyntax.self)
      {
        return check(wrapped, &problems)
      } else if let array = type.as(ArrayTypeSyntax.self) {
        return check(array.element, &problems)
      } else if let dictionary = type.as(DictionaryTypeSyntax.self) {
        return check(dictionary.key, &problems) && check(dictionary.value, &problems)
      } else {
        return true
      }
      problems.report(at: type, "A field cannot be \(reason).")
      return false
    }

    /// The type of a literal, or of a call that names it and has no arguments.
    private static func inferredType(of value: ExprSyntax) -> String? {
      if value.is(IntegerLiteralExprSyntax.self) { return "Int" }
      if value.is(FloatLiteralExprSyntax.self) { return "Double" }
      if value.is(BooleanLiteralExprSyntax.self) { return "Bool" }
      if value.is(StringLiteralExprSyntax.self) { return "String" }
      if let prefixed = value.as(PrefixOperatorExprSyntax.self), prefixed.operator.text == "-" {
        return inferredType(of: prefixed.expression)
      }
      // `Date()`, `[String]()`, `Set<Int>()`.
      guard let call = value.as(FunctionCallExprSyntax.self), call.arguments.isEmpty,
        call.trailingClosure == nil
      else { return nil }
      let callee = call.calledExpression
      let text = callee.trimmedDescription
      if callee.is(ArrayExprSyntax.self) || callee.is(DictionaryExprSyntax.self) { return text }
      let isType =
        callee.is(DeclReferenceExprSyntax.self) || callee.is(GenericSpecializationExprSyntax.self)
      return isType && text.first?.isUppercase == true ? text : nil
    }
  }
#endif
