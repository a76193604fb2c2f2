#if Tools && Server
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthServer
  import HearthTerminal
  import HearthText
  import Logging

  /// The files with the keys and accounts of a server.
  struct AccessFiles: Sendable {
    /// One key a line.
    var tokenFile: String?
    var serviceAccounts: [String]

    var isEmpty: Bool { tokenFile == nil && serviceAccounts.isEmpty }

    func read() throws -> (keys: [String], accounts: [FirestoreServer.ServiceAccount]) {
      var keys: [String] = []
      if let tokenFile {
        keys = try TextFile.read(tokenFile)
          .split(whereSeparator: \.isNewline).map { $0.trimmingCharacters(in: .whitespaces) }
          .filter { !$0.isEmpty && !$0.hasPrefix("#") }
        guard !keys.isEmpty else { throw Failure("\(tokenFile.legible) has no service key.") }
      }
      let accounts = try serviceAccounts.map { path in
        do {
          return try FirestoreServer.ServiceAccount(json: try TextFile.read(path))
        } catch let failure as Failure {
          throw failure
        } catch {
          throw Failure("\(path.legible): \(error.localizedDescription)")
        }
      }
      return (keys, accounts)
    }

    /// Gives a server the keys and accounts of the files as they are now. If one cannot be used, the
    /// server keeps all of its own, and this is logged.
    func reload(into server: FirestoreServer, _ logger: Logger) {
      if isEmpty { return }
      do {
        let (keys, accounts) = try read()
        try server.replaceKeys(keys, serviceAccounts: accounts)
      } catch {
        let reason = (error as? Failure)?.description ?? error.localizedDescription
        logger.error(
          "The keys and accounts were not replaced.", metadata: ["error": "\(reason)"])
      }
    }

    /// Warns of files with a secret that others than their owner may read. The server's part of an
    /// account has none.
    func warnOfOthers(_ logger: Logger) {
      if let tokenFile { KeyFile.warn(ofOthersWhoMayRead: tokenFile, logger) }
      for path in serviceAccounts
      where (try? TextFile.read(path))?.contains("\"private_key\"") == true {
        KeyFile.warn(ofOthersWhoMayRead: path, logger)
      }
    }
  }
#endif
