/// Reads and writes that are committed together; reads see the writes before them.
package protocol LocalWriter: DocumentState {
  func write(_ mutation: Mutation) throws
}
