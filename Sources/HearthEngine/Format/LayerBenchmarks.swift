/// The functions below the public API that the benchmarks measure: the format and the keys.
@_spi(Figures)
public enum LayerBenchmarks {
  /// Checks that bytes are a document in canonical form. Throws `dataLoss` if they are not.
  public static func validate(documentBytes bytes: [UInt8]) throws {
    do throws(Status) { _ = try DocumentBody(validating: bytes) } catch { throw error.nsError }
  }

  /// Finds a field in each document, as a filter does, and returns how many documents have it.
  /// Throws `invalidArgument` for an invalid field, and `dataLoss` for damaged bytes.
  public static func find(_ field: String, in documents: [[UInt8]]) throws -> Int {
    do throws(Status) {
      var lookup = FieldLookup(try FieldSegments(dotted: field))
      var count = 0
      for bytes in documents {
        let body = DocumentBody(canonical: bytes)
        if try body.withView({ map throws(Status) in try lookup.find(in: map) != nil }) {
          count += 1
        }
      }
      return count
    } catch {
      throw error.nsError
    }
  }

  /// The index components of a text and a number, one after the other, as bytes.
  public static func key(_ text: String, _ number: Double) -> [UInt8] {
    var buffer = KeyBuffer()
    buffer.append(.string(text))
    buffer.append(.double(number))
    return buffer.bytes
  }
}
