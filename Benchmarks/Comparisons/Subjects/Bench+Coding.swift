import Foundation
@_spi(Figures) import Hearth
import Workloads

extension Bench {
  /// One book between a Swift value and bytes.
  func coding() async throws {
    guard wants("encode-vs-json", "decode-vs-json") else { return }
    let books = (0..<16).map { Book($0) }
    let count = 5000
    var encoding = Race()
    let encoder = Firestore.Encoder()
    let jsonEncoder = JSONEncoder()
    var sum = 0
    encoding.add(HearthEngine.name) {
      try await Race.nanoseconds(count) {
        for index in 0..<count {
          try encoder.withDocumentBytes(of: books[index % 16]) { sum &+= $0.count }
        }
      }
    }
    encoding.add("JSONEncoder") {
      try await Race.nanoseconds(count) {
        for index in 0..<count { sum &+= try jsonEncoder.encode(books[index % 16]).count }
      }
    }
    tell(
      "encode-vs-json", "encode a book", try await encoding.run(rounds: rounds * 2),
      against: "JSONEncoder", aim: 8, unit: "ns")
    var decoding = Race()
    let decoder = Firestore.Decoder()
    let jsonDecoder = JSONDecoder()
    let bytes = try books.map { try encoder.documentBytes(of: $0) }
    let json = try books.map { try jsonEncoder.encode($0) }
    decoding.add(HearthEngine.name) {
      try await Race.nanoseconds(count) {
        for index in 0..<count {
          sum &+= try bytes[index % 16].withUnsafeBytes {
            try decoder.decode(Book.self, documentBytes: $0).numberOfPages
          }
        }
      }
    }
    decoding.add("JSONDecoder") {
      try await Race.nanoseconds(count) {
        for index in 0..<count {
          sum &+= try jsonDecoder.decode(Book.self, from: json[index % 16]).numberOfPages
        }
      }
    }
    tell(
      "decode-vs-json", "decode a book", try await decoding.run(rounds: rounds * 2),
      against: "JSONDecoder", aim: 7, unit: "ns")
    precondition(sum != 0)
  }
}
