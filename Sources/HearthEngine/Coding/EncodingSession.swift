import Foundation

/// One run of an encoder: `Encodable` values stream through it into a `DocumentWriter`.
///
/// Every value that encodes itself has a *frame*, from the moment its encoder is created until the
/// enclosing value encodes again. Encoders and containers are small structs that point at their
/// frame (`EncodingPosition`), so that none is allocated per value. The first thing encoded into a
/// frame makes it a map, an array or a single value.
///
/// Streaming requires that values are encoded one after another, as nearly all types do: a
/// container must not be used again after its enclosing container encoded something. If a type
/// breaks this rule, the run is marked, and the slower `TreeEncoder`, which has no such rule,
/// encodes the whole value again.
///
/// Sessions are never freed, only reused, and frames have serial numbers that never repeat: an
/// encoder that a type kept too long finds that its frame is gone, and does nothing.
struct EncodingSession {
  fileprivate let state: UnsafeMutablePointer<EncodingPosition.State>

  /// False if a `TreeEncoder` must encode the value.
  fileprivate func stream<T: Encodable>(_ value: T, _ options: FirebaseDataEncoder) throws -> Bool {
    state.pointee.options = Unmanaged.passUnretained(options)
    state.pointee.keysAreDefault = options.keysAreDefault
    state.pointee.datesAreTimestamps = options.datesAreTimestamps
    state.pointee.dataIsBlob = options.dataIsBlob
    // A type that is encoded directly writes the values inside of it without a hook.
    state.pointee.isRefused = options.hasReplacement
    state.pointee.firstSerial = state.pointee.serial
    let root = EncodingPosition.push(on: state, kind: .empty)
    if root.encodeDirect(value) {
      if state.pointee.writer.isMap { return true }
      // `Codable` throws the error.
      state.pointee.writer.reset()
      state.pointee.frames[0].kind = .empty
      state.pointee.databases = []
    }
    do {
      try root.encodeByCodable(value)
      if let misuse = state.pointee.misuse { throw misuse }
    } catch {
      // The error may come from the broken stream, not from the value.
      if !state.pointee.isBroken { throw error }
    }
    if state.pointee.isBroken { return false }
    _ = root.enter()
    switch state.pointee.frames[0].kind {
    case .map: break
    case .empty: throw EncodingRules.nothing(value)
    default: throw EncodingRules.notAllowed(value)
    }
    root.closeTop()
    return true
  }

  // MARK: - Idle sessions

  fileprivate static let pool: SessionPool<EncodingPosition.State> = SessionPool(make: {
    EncodingPosition.State()
  }) { state in
    if let state { pool.share(state) }
  }

  fileprivate func giveBack() {
    state.pointee.writer.resetAndTrim()
    state.pointee.options = nil
    state.pointee.frameCount = 0
    state.pointee.path.truncate(to: 0)
    state.pointee.isBroken = false
    state.pointee.isRefused = false
    if state.pointee.misuse != nil { state.pointee.misuse = nil }
    if state.pointee.validationError != nil { state.pointee.validationError = nil }
    if !state.pointee.transforms.isEmpty { state.pointee.transforms = [] }
    if !state.pointee.databases.isEmpty { state.pointee.databases = [] }
    EncodingSession.pool.giveBack(state)
  }
}

extension FirebaseDataEncoder {
  /// Encodes the value directly as a document's bytes.
  package func encodeDocument<T: Encodable>(_ value: T) throws -> EncodedDocument {
    let session = EncodingSession(state: EncodingSession.pool.borrow())
    defer { session.giveBack() }
    guard try session.stream(value, self) else {
      return try TreeEncoder.encode(value, options: self)
    }
    return EncodedDocument(
      body: try session.state.pointee.writer.finish(),
      transforms: session.state.pointee.transforms, databases: session.state.pointee.databases,
      validationError: session.state.pointee.validationError)
  }
}

@_spi(Figures)
extension FirebaseDataEncoder {
  /// For benchmarks: the document's bytes, which the session owns, valid only in `body`.
  public func withDocumentBytes<T: Encodable, Result>(
    of value: T, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let session = EncodingSession(state: EncodingSession.pool.borrow())
    defer { session.giveBack() }
    guard try session.stream(value, self) else {
      return try TreeEncoder.encode(value, options: self).body.withBytes(body)
    }
    return try session.state.pointee.writer.withBytes(body)
  }

  /// For benchmarks: the document's bytes, copied as for a write.
  public func documentBytes<T: Encodable>(of value: T) throws -> [UInt8] {
    try encodeDocument(value).body.bytes
  }
}
