/// The fields of an executed operation, and what failed.
struct OperationResponse: Sendable {
  var fields: DataObject
  var errors: [OperationFailureResponse.ErrorInfo] = []
  var cause: (any Error)?
  /// For a cache: the rows that root fields have read by their keys, also those that do not exist.
  var lookups: Set<RowIdentity> = []
  /// Why the result may be of another form: sentences with the table, the key and the column of a row.
  var misfits: [String] = []

  /// The result. Throws `DataConnectOperationError` if anything failed, and `DataConnectCodecError` for
  /// a result of another form.
  func decoded<ResultData: Decodable & Sendable>(
    _ type: ResultData.Type
  ) throws -> ResultData {
    guard !errors.isEmpty else { return try decode(type) }
    let decoded = Result { try decode(type) }
    var underlying = cause
    if case .failure(let error) = decoded, underlying == nil { underlying = error }
    throw DataConnectOperationError(
      errors.map(\.description).joined(separator: "\n"), underlying,
      response: OperationFailureResponse(
        errors: errors, value: .object(fields), decoded: try? decoded.get()))
  }

  /// Throws `DataConnectCodecError` that names the rows of another form.
  private func decode<ResultData: Decodable & Sendable>(
    _ type: ResultData.Type
  ) throws -> ResultData {
    do throws(DataConnectCodecError) { return try decodeFields(type) } catch {
      guard !misfits.isEmpty else { throw error }
      throw DataConnectCodecError(
        error.code, ([error.message] + misfits).joined(separator: " "), error.underlyingError)
    }
  }

  private func decodeFields<ResultData: Decodable & Sendable>(
    _ type: ResultData.Type
  ) throws(DataConnectCodecError) -> ResultData {
    do {
      if let row = type as? any DataConnectRow.Type,
        let decoded = try row.init(row: DataConnectReader(fields)) as? ResultData
      {
        return decoded
      }
      return try DataValueDecoder.decode(type, from: .object(fields))
    } catch let error as DataConnectCodecError {
      throw error
    } catch {
      throw DataConnectCodecError(
        .decodingFailed, "The result is not of the type \(type): \(error)", error)
    }
  }
}
