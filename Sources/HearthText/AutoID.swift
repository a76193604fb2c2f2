/// Ids for new documents: 20 characters of A-Z, a-z and 0-9, from the system's random numbers.
package enum AutoID {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  package static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    return String(unsafeUninitializedCapacity: 20) { buffer in
      for index in 0..<20 {
        buffer[index] = alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
      }
      return 20
    }
  }
}
