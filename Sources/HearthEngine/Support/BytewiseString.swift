/// A string that equals another only if their UTF-8 bytes are the same: a key for names and paths. To Swift's
/// own `==` two strings are equal that are canonically equivalent, and the file system and Firestore keep
/// those apart.
package struct BytewiseString: Hashable, Comparable, Sendable {
  package let string: String

  package init(_ string: String) { self.string = string }

  package static func == (lhs: BytewiseString, rhs: BytewiseString) -> Bool {
    UTF8Order.areEqual(lhs.string, rhs.string)
  }

  package static func < (lhs: BytewiseString, rhs: BytewiseString) -> Bool {
    UTF8Order.compare(lhs.string, rhs.string) < 0
  }

  package func hash(into hasher: inout Hasher) {
    var string = string
    string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
