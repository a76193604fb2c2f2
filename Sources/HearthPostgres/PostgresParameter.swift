#if Postgres
  import HearthEngine

  /// A parameter of a statement, in PostgreSQL's binary form.
  struct PostgresParameter: Sendable {
    let bytes: [UInt8]

    private static let bytea: UInt32 = 17
    private static let int8: UInt32 = 20
    private static let bool: UInt32 = 16

    static func bytes(_ bytes: [UInt8]) -> PostgresParameter { PostgresParameter(bytes: bytes) }

    /// A `bigint`, with the bits of an unsigned number.
    static func integer(_ value: some FixedWidthInteger) -> PostgresParameter {
      .bytes(bigEndian(value))
    }

    static func array(_ values: [[UInt8]?]) -> PostgresParameter { array(bytea, values) }

    static func array<Integer: FixedWidthInteger>(_ values: [Integer?]) -> PostgresParameter {
      array(int8, values.map { $0.map { bigEndian($0) } })
    }

    static func array(_ values: [Bool]) -> PostgresParameter {
      array(bool, values.map { [$0 ? 1 : 0] })
    }

    /// The collections and the ids.
    static func keys(_ keys: [RemoteKey]) -> [PostgresParameter] {
      [.array(keys.map(\.collection)), .array(keys.map(\.id))]
    }

    private static func bigEndian(_ value: some FixedWidthInteger) -> [UInt8] {
      withUnsafeBytes(of: Int64(truncatingIfNeeded: value).bigEndian) { Array($0) }
    }

    /// One dimension: its count, flag for nulls, type, length, first index, elements.
    private static func array(_ type: UInt32, _ values: [[UInt8]?]) -> PostgresParameter {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(20 + values.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
      func append(_ value: UInt32) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
      }
      append(values.isEmpty ? 0 : 1)
      append(values.contains { $0 == nil } ? 1 : 0)
      append(type)
      if values.isEmpty { return .bytes(bytes) }
      append(UInt32(values.count))
      append(1)
      for value in values {
        append(value.map { UInt32($0.count) } ?? UInt32.max)
        if let value { bytes.append(contentsOf: value) }
      }
      return .bytes(bytes)
    }
  }
#endif
