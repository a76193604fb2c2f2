#if Server
  import FirestoreProtocol
  import Foundation
  import GRPCCore
  import SwiftProtobuf
  import Testing

  /// Firestore's recorded answers, in the JSON form of its messages. Names are relative to the
  /// database there.
  struct RecordedVectors {
    let members: [String: Any]

    init(_ name: String) throws {
      let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
      let data = try Data(
        contentsOf: tests.appending(path: "HearthTests/Resources/vectors/\(name).json"))
      members = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// Those that a production server must answer in the same way.
    func cases(_ key: String) -> [Case] {
      (members[key] as? [[String: Any]] ?? []).map(Case.init).filter {
        $0.members["emulatorOnly"] as? Bool != true
      }
    }

    /// Writes the documents of a file or of a case.
    static func add(_ documents: Any?, to client: TestServer.Client) async throws {
      let documents = try (documents as? [[String: Any]] ?? []).map {
        try Case(["update": $0]).message() as ProtoWrite
      }
      for start in stride(from: 0, to: documents.count, by: 100) {
        _ = try await client.commit(
          .with {
            $0.database = TestServer.database
            $0.writes = Array(documents[start..<min(start + 100, documents.count)])
          })
      }
    }

    struct Case {
      var members: [String: Any]

      init(_ members: [String: Any]) { self.members = members }

      var id: String { members["id"] as? String ?? "?" }
      var code: String? { members["code"] as? String }
      func names(_ key: String) -> [String] { members[key] as? [String] ?? [] }
      func list(_ key: String) -> [Case] {
        (members[key] as? [[String: Any]] ?? []).map(Case.init)
      }

      /// The message that a member, or the case itself, is.
      func message<Message: SwiftProtobuf.Message>(_ key: String? = nil) throws -> Message {
        let json = Self.named(key.map { members[$0] ?? [String: Any]() } ?? members)
        return try Message(
          jsonUTF8Data: try JSONSerialization.data(withJSONObject: json, options: .fragmentsAllowed)
        )
      }

      func messages<Message: SwiftProtobuf.Message>(_ key: String) throws -> [Message] {
        try list(key).map { try $0.message() }
      }

      /// With full names, and without abbreviations of long strings.
      private static func named(_ json: Any) -> Any {
        if let list = json as? [Any] { return list.map(named) }
        guard let members = json as? [String: Any] else { return json }
        return Dictionary(
          uniqueKeysWithValues: members.map { key, value in
            guard let text = value as? String else { return (key, named(value)) }
            if ["name", "referenceValue", "document", "delete", "verify"].contains(key) {
              return (key, TestServer.root + "/" + text)
            }
            return (key, key == "stringValue" ? repeated(text) : text)
          })
      }

      /// `<<repeat:x:1048487>>` is that many x.
      private static func repeated(_ text: String) -> String {
        guard text.hasPrefix("<<repeat:"), text.hasSuffix(">>") else { return text }
        let parts = text.dropFirst(9).dropLast(2).split(separator: ":")
        guard parts.count == 2, let count = Int(parts[1]) else { return text }
        return String(repeating: String(parts[0]), count: count)
      }

      /// Whether an error has the code of the case.
      func expects(_ error: any Error) -> Bool {
        guard let code, let error = error as? RPCError else { return false }
        return String(describing: error.code).lowercased().filter(\.isLetter)
          == code.lowercased().filter(\.isLetter)
      }
    }
  }

  extension ProtoDocument {
    /// The name, relative to the database.
    var path: String { String(name.dropFirst(TestServer.root.count + 1)) }
  }

  extension SwiftProtobuf.Message {
    /// Equal for equal messages, also with NaN in them.
    var bytes: [UInt8] {
      get throws {
        var options = BinaryEncodingOptions()
        options.useDeterministicOrdering = true
        return try serializedBytes(options: options)
      }
    }
  }
#endif
