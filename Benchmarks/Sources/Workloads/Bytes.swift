@_spi(Figures) import Hearth

extension Workload {
  private static func documents(_ count: Int) throws -> [[UInt8]] {
    let encoder = Firestore.Encoder()
    return try (0..<count).map { try encoder.documentBytes(of: Book($0)) }
  }

  static let format = [
    Workload(.format, "A document's bytes are checked", repetitions: 256) { _ in
      let documents = try documents(256)
      return {
        var digest = Digest()
        for bytes in documents {
          try LayerBenchmarks.validate(documentBytes: bytes)
          digest.add(bytes.count)
        }
        return digest
      }
    },
    Workload(.format, "A nested field is found in a document", repetitions: 256) { _ in
      let documents = try documents(256)
      return {
        var digest = Digest()
        digest.add(try LayerBenchmarks.find("cover.medium", in: documents))
        return digest
      }
    },
  ]

  static let keys = [
    Workload(.keys, "The key of an index entry is made", repetitions: 256) { _ in
      let books = (0..<256).map { Book($0) }
      return {
        var digest = Digest()
        for book in books { digest.add(LayerBenchmarks.key(book.author, book.rating).count) }
        return digest
      }
    }
  ]

  static let coding = [
    Workload(.coding, "A book becomes a document", repetitions: 256) { _ in
      let books = (0..<256).map { Book($0) }
      return {
        let encoder = Firestore.Encoder()
        var digest = Digest()
        for book in books {
          try encoder.withDocumentBytes(of: book) { digest.add($0.count) }
        }
        return digest
      }
    },
    Workload(.coding, "A document becomes a book", repetitions: 256) { _ in
      let documents = try documents(256)
      return {
        let decoder = Firestore.Decoder()
        var digest = Digest()
        for bytes in documents {
          digest.add(
            try bytes.withUnsafeBytes { try decoder.decode(Book.self, documentBytes: $0) })
        }
        return digest
      }
    },
    Workload(.coding, "A book becomes a dictionary, and a book again", repetitions: 64) { _ in
      let books = (0..<64).map { Book($0) }
      return {
        var digest = Digest()
        for book in books {
          let dictionary = try Firestore.Encoder().encode(book)
          digest.add(try Firestore.Decoder().decode(Book.self, from: dictionary))
        }
        return digest
      }
    },
  ]
}
