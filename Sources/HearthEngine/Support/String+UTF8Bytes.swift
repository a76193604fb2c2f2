extension String {
  /// The string's UTF-8, without copying or retaining it as `withUTF8` does.
  @inline(__always)
  func withUTF8Bytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let result: Swift.Result<Result, Failure>? = utf8.withContiguousStorageIfAvailable { utf8 in
      do throws(Failure) {
        return .success(try body(UnsafeRawBufferPointer(utf8)))
      } catch {
        return .failure(error)
      }
    }
    if let result { return try result.get() }
    return try copyUTF8Bytes(body)
  }

  /// For a string without contiguous UTF-8.
  @inline(never)
  private func copyUTF8Bytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let bytes = Array(utf8)
    return try bytes.withUnsafeBufferPointer { bytes throws(Failure) in
      try body(UnsafeRawBufferPointer(bytes))
    }
  }
}
