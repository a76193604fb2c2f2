#if Server
  import FirestoreProtocol
  import Foundation
  import SwiftProtobuf

  /// The state of a client with one target, as Firestore's clients keep it.
  struct ListeningClient {
    struct Removed: Error {
      let code: Int32
      let message: String
    }

    private(set) var documents: [String: ProtoDocument] = [:]
    /// Messages about documents.
    private(set) var changes = 0
    private(set) var isCurrent = false
    private(set) var token = Data()
    private(set) var readTime = Google_Protobuf_Timestamp()
    private(set) var filterCount: Int32?
    private(set) var resets = 0

    /// Returns whether the message completes a consistent snapshot.
    mutating func take(_ message: ProtoListenResponse) throws -> Bool {
      switch message.responseType {
      case .documentChange, .documentDelete, .documentRemove: changes += 1
      default: break
      }
      switch message.responseType {
      case .documentChange(let change):
        documents[change.document.path] = change.targetIds.isEmpty ? nil : change.document
      case .documentDelete(let delete): remove(delete.document)
      case .documentRemove(let remove): self.remove(remove.document)
      case .filter(let filter): filterCount = filter.count
      case .targetChange(let change):
        if !change.resumeToken.isEmpty { token = change.resumeToken }
        switch change.targetChangeType {
        case .current: isCurrent = true
        case .reset:
          documents = [:]
          resets += 1
        case .remove:
          guard change.hasCause else { break }
          throw Removed(code: change.cause.code, message: change.cause.message)
        case .noChange where change.targetIds.isEmpty && change.hasReadTime:
          readTime = change.readTime
          return isCurrent
        default: break
        }
      case nil: break
      }
      return false
    }

    private mutating func remove(_ name: String) {
      documents[String(name.dropFirst(TestServer.root.count + 1))] = nil
    }
  }
#endif
