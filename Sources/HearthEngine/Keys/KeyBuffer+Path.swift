/// Ids and paths.
///
///     id      text        escaped UTF-8, 00
///             __id7__     01, eight bytes: the number, big-endian, sign flipped
///     path    its ids, 00
///
/// Law: comparing two paths' bytes is the same as `ResourcePath.compare`. Numeric ids come before
/// text, and a path comes before the paths below it. No id is empty.
extension KeyBuffer {
  mutating func append(id: String) {
    id.withUTF8Bytes { append(idUTF8: $0) }
  }

  mutating func append(idUTF8 id: UnsafeRawBufferPointer) {
    if let number = ResourcePath.numericID(utf8: id) {
      append(byte: KeyByte.marker)
      append(bigEndian: UInt64(bitPattern: number) ^ (1 << 63))
    } else {
      append(escaped: id)
      append(byte: KeyByte.terminator)
    }
  }

  mutating func append(path: ResourcePath) {
    appendIDs(of: path)
    append(byte: KeyByte.terminator)
  }

  /// A path without its terminator: the prefix of the keys of all paths below it.
  mutating func appendIDs(of path: ResourcePath) {
    for id in path.segments { append(id: id) }
  }
}
