#if Server
  import HearthEngine
  internal import HearthText
  import Crypto
  import CryptoExtras
  import Foundation

  extension FirestoreServer {
    /// An account whose clients have full access: the server knows its public key, its clients sign
    /// tokens with the private one.
    ///
    ///     let keys = try FirestoreServer.ServiceAccount.makeKeys(name: "backend", project: "shop")
    ///     // keys.client is for the clients: Google's libraries read it as a service account's file.
    ///     var options = FirestoreServer.Options()
    ///     options.serviceAccounts = [try FirestoreServer.ServiceAccount(json: keys.server)]
    ///
    /// The clients' file has the form of Google's service-account keys. A client library signs a
    /// JSON Web Token for `https://firestore.googleapis.com/` itself and asks nobody for it; the
    /// server accepts such a token for as long as it says, an hour at most.
    public struct ServiceAccount: Sendable, Hashable {
      /// The id of the key, as tokens name it.
      public let keyID: String
      /// The account's address, as tokens name it: the JSON's `client_email`.
      public let email: String
      /// The public key as PEM: RSA, of 2,048 bits at least.
      public let publicKey: String

      /// Reads an account from JSON: the file of a service account, with its private key, or the
      /// server's part of it, with the public key.
      ///
      /// Throws `invalidArgument` for JSON that is neither, and for a key that is not RSA of 2,048
      /// bits at least.
      public init(json: String) throws {
        guard let file = try? JSONDecoder().decode(ServiceAccountFile.self, from: Data(json.utf8)),
          file.type == ServiceAccountFile.type, !file.keyID.isEmpty, !file.email.isEmpty
        else {
          throw Status.invalidArgument(
            "This is not the key of a service account: JSON with type \"service_account\", "
              + "private_key_id, client_email, and private_key or public_key."
          ).nsError
        }
        keyID = file.keyID
        email = file.email
        let key: _RSA.Signing.PublicKey? =
          if let text = file.publicKey {
            try? _RSA.Signing.PublicKey(pemRepresentation: text)
          } else {
            file.privateKey.flatMap {
              try? _RSA.Signing.PrivateKey(pemRepresentation: $0).publicKey
            }
          }
        guard let key else {
          throw Status.invalidArgument(
            "The service account \(email) has no RSA key of 2,048 bits at least, as PEM."
          ).nsError
        }
        publicKey = key.pemRepresentation
      }

      /// Makes a key pair: JSON for the clients, with the private key, and JSON for the server,
      /// without it. Takes about a tenth of a second.
      ///
      /// - Parameters:
      ///   - name: The account's name: letters, digits and hyphens, at most 63.
      ///   - project: The id of the project that clients use, if they are not given another: letters,
      ///     digits and hyphens, at most 63.
      ///
      /// Throws `invalidArgument` for another name or project.
      public static func makeKeys(
        name: String, project: String
      ) throws -> (client: String, server: String) {
        for id in [name, project] {
          let isID = id.utf8.allSatisfy { byte in
            byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-")
          }
          guard isID, (1...63).contains(id.utf8.count) else {
            throw Status.invalidArgument(
              "\"\(id)\" is not a name of 1 to 63 letters, digits and hyphens."
            ).nsError
          }
        }
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let digest = SHA256.hash(data: key.publicKey.derRepresentation)
        var file = ServiceAccountFile(
          type: ServiceAccountFile.type, project: project,
          keyID: digest.prefix(20).map { String($0, radix: 16, width: 2) }.joined(),
          email: "\(name)@\(project).iam.gserviceaccount.com")
        file.privateKey = key.pkcs8PEMRepresentation + "\n"
        file.tokenURI = "https://oauth2.googleapis.com/token"
        let client = try file.json
        file.privateKey = nil
        file.tokenURI = nil
        file.publicKey = key.publicKey.pemRepresentation + "\n"
        return (client, try file.json)
      }
    }
  }

  /// The JSON of a service account's key.
  private struct ServiceAccountFile: Codable {
    static let type = "service_account"

    var type: String
    var project: String?
    var keyID: String
    var email: String
    var privateKey: String?
    var publicKey: String?
    /// Client libraries ask for one, although they do not use it here.
    var tokenURI: String?

    enum CodingKeys: String, CodingKey {
      case type
      case project = "project_id"
      case keyID = "private_key_id"
      case email = "client_email"
      case privateKey = "private_key"
      case publicKey = "public_key"
      case tokenURI = "token_uri"
    }

    var json: String {
      get throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self) + "\n"
      }
    }
  }
#endif
