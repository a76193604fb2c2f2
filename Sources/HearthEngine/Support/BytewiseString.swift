/// A string that compares by its UTF-8 bytes: a key for names and paths. Swift's own `==` also
/// equates canonically equivalent strings, which the file system and Firestore keep apart.
@propertyWrapper
package struct BytewiseString: Hashable, Comparable, Sendable {
  package private(set) var string: String

  package init(_ string: String) { self.string = string }

  package init(wrappedValue: String) { string = wrappedValue }

  package var wrappedValue: String {
    get { string }
    set { string = newValue }
  }

  package static func == (lhs: BytewiseString, rhs: BytewiseString) -> Bool {
    UTF8Order.areEqual(lhs.string, rhs.string)
  }

  package static func < (lhs: BytewiseString, rhs: BytewiseString) -> Bool {
    UTF8Order.compare(lhs.string, rhs.string) < 0
  }

  package func hash(into hasher: inout Hasher) {
    string.withUTF8Bytes { hasher.combine(bytes: $0) }
  }
}
