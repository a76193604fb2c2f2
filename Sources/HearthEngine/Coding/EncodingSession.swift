import Foundation

/// One run of an encoder: `Encodable` values stream through it into a `DocumentWriter`.
///
/// Every value that encodes itself has a *frame*, from the moment its encoder is handed out until the
/// value around it goes on. Encoders and containers are small structs that point at their frame
/// (`EncodingPosition`), so that none is allocated per value. A frame becomes a map, an array or a
/// single value with the first thing that is encoded into it.
///
/// Streaming asks that values are encoded one after another, as nearly all types do: a container is
/// not used again after the container around it went on. Where a type breaks that, the run is
/// marked and the whole value is encoded once more by the slower `TreeEncoder`, which has no such rule.
///
/// Sessions are never freed, only used again, and frames have serial numbers that never repeat: an
/// encoder that a type kept beyond its time finds its frame gone and does nothing.
struct EncodingSession {
  private let state: UnsafeMutablePointer<EncodingPosition.State>

  static func encode<T: Encodable>(
    _ value: T, options: FirebaseDataEncoder
  ) throws -> EncodedDocument {
    let session = EncodingSession(state: pool.borrow())
    defer { session.giveBack() }
    guard try session.stream(value, options) else {
      return try TreeEncoder.encode(value, options: options)
    }
    return EncodedDocument(
      body: try session.state.pointee.writer.finish(),
      transforms: session.state.pointee.transforms, databases: session.state.pointee.databases,
      fault: session.state.pointee.fault)
  }

  /// The same without a copy of the bytes, which are the session's and end with `body`.
  static func withBytes<T: Encodable, Result>(
    of value: T, options: FirebaseDataEncoder, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    let session = EncodingSession(state: pool.borrow())
    defer { session.giveBack() }
    guard try session.stream(value, options) else {
      return try TreeEncoder.encode(value, options: options).body.withBytes(body)
    }
    return try session.state.pointee.writer.withBytes(body)
  }

  /// False if the value must be encoded by a `TreeEncoder`.
  private func stream<T: Encodable>(_ value: T, _ options: FirebaseDataEncoder) throws -> Bool {
    let root = start(options)
    do {
      try root.encodeHere(value)
      if let misuse = state.pointee.misuse { throw misuse }
    } catch {
      // What broke may have been our own stream, not the value.
      if !state.pointee.isBroken { throw error }
    }
    if state.pointee.isBroken { return false }
    _ = root.enter()
    switch state.pointee.frames[0].kind {
    case .map: break
    case .empty: throw TopLevel.nothing(value)
    default: throw TopLevel.notAllowed(value)
    }
    root.closeTop()
    return true
  }

  private func start(_ options: FirebaseDataEncoder) -> EncodingPosition {
    state.pointee.options = Unmanaged.passUnretained(options)
    state.pointee.keysAreDefault = options.keysAreDefault
    state.pointee.datesAreTimestamps = options.datesAreTimestamps
    state.pointee.dataIsBlob = options.dataIsBlob
    state.pointee.firstSerial = state.pointee.serial
    return EncodingPosition.push(on: state, kind: .empty)
  }

  // MARK: - Idle sessions

  private static let pool: SessionPool<EncodingPosition.State> = SessionPool(make: {
    EncodingPosition.State()
  }) { state in
    if let state { pool.share(state) }
  }

  private func giveBack() {
    state.pointee.writer.resetAndTrim()
    state.pointee.options = nil
    state.pointee.frameCount = 0
    state.pointee.path.truncate(to: 0)
    state.pointee.isBroken = false
    if state.pointee.misuse != nil { state.pointee.misuse = nil }
    if state.pointee.fault != nil { state.pointee.fault = nil }
    if !state.pointee.transforms.isEmpty { state.pointee.transforms = [] }
    if !state.pointee.databases.isEmpty { state.pointee.databases = [] }
    EncodingSession.pool.giveBack(state)
  }
}
