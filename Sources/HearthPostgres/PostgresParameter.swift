#if Postgres
  import HearthEngine

  /// Parameters in PostgreSQL's binary form.
  enum PostgresParameter {
    private static let bytea: UInt32 = 17
    private static let int8: UInt32 = 20
    private static let bool: UInt32 = 16

    static func integer(_ value: Int64) -> [UInt8] {
      withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }

    static func array(_ values: [[UInt8]?]) -> [UInt8] { array(bytea, values) }

    static func array(_ values: [Int64?]) -> [UInt8] { array(int8, values.map { $0.map(integer) }) }

    /// The collections and the ids.
    static func keys(_ keys: [RemoteKey]) -> [[UInt8]?] {
      [array(keys.map(\.collection)), array(keys.map(\.id))]
    }

    static func array(_ values: [Bool]) -> [UInt8] { array(bool, values.map { [$0 ? 1 : 0] }) }

    /// One dimension: its count, flag for nulls, type, length, first index, elements.
    private static func array(_ type: UInt32, _ values: [[UInt8]?]) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(20 + values.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
      func append(_ value: UInt32) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
      }
      append(values.isEmpty ? 0 : 1)
      append(values.contains { $0 == nil } ? 1 : 0)
      append(type)
      if values.isEmpty { return bytes }
      append(UInt32(values.count))
      append(1)
      for value in values {
        append(value.map { UInt32($0.count) } ?? UInt32.max)
        if let value { bytes.append(contentsOf: value) }
      }
      return bytes
    }
  }
#endif
