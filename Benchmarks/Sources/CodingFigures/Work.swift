import Foundation
@_spi(Figures) import Hearth

/// One thing that is measured: one coder, one way, one model.
struct Work: Sendable {
  enum Way: String, CaseIterable { case encode, decode }
  enum Coder: String, CaseIterable {
    case hearth = "Hearth"
    /// With bytes of its own, as a write holds them.
    case hearthOwned = "Hearth, owned bytes"
    /// A type that is coded without `Codable`.
    case direct = "Hearth, direct"
    case json = "JSON"
    case propertyList = "property list"
    case hand = "by hand"
  }

  let model: String
  let way: Way
  let coder: Coder
  /// Does it so many times, and gives a number that depends on everything that was made.
  let run: @Sendable (Int) throws -> UInt64

  var title: String { "\(way.rawValue) \(model), \(coder.rawValue)" }

  static let all = of(Book.self) + direct + of(LinkedBook.self) + of(Reading.self) + of(Form.self)

  /// As many different instances as stay in the first cache.
  private static let variety = 16

  private static let direct: [Work] = {
    let books = (0..<variety).map { DirectBook($0) }
    let stored = (0..<variety).map { index -> [UInt8] in
      do {
        let bytes = try Firestore.Encoder().documentBytes(of: books[index])
        let plain = try Firestore.Encoder().documentBytes(of: Book(index))
        precondition(bytes == plain, "Direct bytes are those of Codable.")
        return bytes
      } catch {
        preconditionFailure("A book cannot be coded: \(error)")
      }
    }
    return [
      Work(model: Book.name, way: .encode, coder: .direct) { count in
        var mixer = Mixer()
        let encoder = Firestore.Encoder()
        for index in 0..<count {
          try encoder.withDocumentBytes(of: books[index % variety]) { mixer.mix(bytes: $0) }
        }
        return mixer.value
      },
      Work(model: Book.name, way: .decode, coder: .direct) { count in
        var mixer = Mixer()
        let decoder = Firestore.Decoder()
        for index in 0..<count {
          try stored[index % variety].withUnsafeBytes {
            try decoder.decode(DirectBook.self, documentBytes: $0).mix(into: &mixer)
          }
        }
        return mixer.value
      },
    ]
  }()

  private static func of<Model: Measured & HandWritten>(_ type: Model.Type) -> [Work] {
    let models = (0..<variety).map { Model($0) }
    let coders = Coder.allCases.filter { $0 != .direct }
    return coders.map { encode(models, $0) }
      + coders.filter { $0 != .hearthOwned }.map { decode(models, $0) }
  }

  /// The encoders are made for each run, which is many operations: threads do not share them.
  private static func encode<Model: Measured & HandWritten>(
    _ models: [Model], _ coder: Coder
  ) -> Work {
    Work(model: Model.name, way: .encode, coder: coder) { count in
      var mixer = Mixer()
      switch coder {
      case .hearth, .direct:
        let encoder = Firestore.Encoder()
        for index in 0..<count {
          try encoder.withDocumentBytes(of: models[index % variety]) { mixer.mix(bytes: $0) }
        }
      case .hearthOwned:
        let encoder = Firestore.Encoder()
        for index in 0..<count {
          try encoder.documentBytes(of: models[index % variety]).withUnsafeBytes {
            mixer.mix(bytes: $0)
          }
        }
      case .json:
        let encoder = JSONEncoder()
        for index in 0..<count {
          try encoder.encode(models[index % variety]).withUnsafeBytes { mixer.mix(bytes: $0) }
        }
      case .propertyList:
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        for index in 0..<count {
          try encoder.encode(models[index % variety]).withUnsafeBytes { mixer.mix(bytes: $0) }
        }
      case .hand:
        var writer = HandWriter()
        for index in 0..<count {
          writer.reset()
          Model.write(models[index % variety], to: &writer)
          mixer.mix(bytes: writer.bytes)
        }
      }
      return mixer.value
    }
  }

  private static func decode<Model: Measured & HandWritten>(
    _ models: [Model], _ coder: Coder
  ) -> Work {
    let stored = models.map { Stored($0, coder) }
    return Work(model: Model.name, way: .decode, coder: coder) { count in
      var mixer = Mixer()
      switch coder {
      case .hearth, .hearthOwned, .direct:
        let decoder = Firestore.Decoder()
        for index in 0..<count {
          try stored[index % variety].bytes.withUnsafeBytes {
            try decoder.decode(Model.self, documentBytes: $0).mix(into: &mixer)
          }
        }
      case .json:
        let decoder = JSONDecoder()
        for index in 0..<count {
          try decoder.decode(Model.self, from: stored[index % variety].data).mix(into: &mixer)
        }
      case .propertyList:
        let decoder = PropertyListDecoder()
        for index in 0..<count {
          try decoder.decode(Model.self, from: stored[index % variety].data).mix(into: &mixer)
        }
      case .hand:
        for index in 0..<count {
          stored[index % variety].bytes.withUnsafeBytes {
            Model.read($0).mix(into: &mixer)
          }
        }
      }
      return mixer.value
    }
  }

  /// What is decoded.
  private struct Stored: Sendable {
    var bytes: [UInt8] = []
    var data = Data()

    /// Makes sure on the way that what is compared is the same.
    init<Model: Measured & HandWritten>(_ model: Model, _ coder: Coder) {
      do {
        switch coder {
        case .hearth, .hearthOwned, .direct, .hand:
          bytes = try Firestore.Encoder().documentBytes(of: model)
          var writer = HandWriter()
          Model.write(model, to: &writer)
          precondition(
            writer.bytes.elementsEqual(bytes), "By hand and by the coder are the same bytes.")
          try bytes.withUnsafeBytes { bytes in
            precondition(Model.read(bytes) == model, "What was written by hand is read by hand.")
            let decoded = try Firestore.Decoder().decode(Model.self, documentBytes: bytes)
            precondition(decoded == model, "What was encoded is decoded.")
          }
        case .json: data = try JSONEncoder().encode(model)
        case .propertyList:
          let encoder = PropertyListEncoder()
          encoder.outputFormat = .binary
          data = try encoder.encode(model)
        }
      } catch {
        preconditionFailure("\(Model.name) cannot be coded: \(error)")
      }
    }
  }
}

extension Mixer {
  /// The length and a few of the bytes: what was written was written for someone.
  @inline(__always)
  fileprivate mutating func mix(bytes: UnsafeRawBufferPointer) {
    mix(bytes.count)
    if bytes.count >= 8 {
      mix(bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
    }
  }
}
