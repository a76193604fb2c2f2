#if Tools && Server
  import ArgumentParser
  import Foundation
  import Hearth
  import HearthServer
  import HearthTerminal
  import HearthText

  struct ServiceAccountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "service-account",
      abstract: "Make the keys of a service account.",
      discussion: """
        Writes two files that must not exist: FILE with the private key, for the clients, and the server's part beside \
        it, which ends with .server.json and has no secret.

          hearth service-account backend --project shop backend.json
          hearth serve data --host 0.0.0.0 --tls-certificate chain.pem --tls-key key.pem \
            --service-account backend.server.json
        """)

    @Argument(help: "The account's name: letters, digits and hyphens.")
    var name: String
    @Argument(help: "The clients' file.", completion: .file(extensions: ["json"]))
    var file: String
    @Option(help: "The project that clients use, if they are not given another.")
    var project: String

    func run() throws {
      let keys = try FirestoreServer.ServiceAccount.makeKeys(name: name, project: project)
      let end = file.hasSuffix(".json") ? file.index(file.endIndex, offsetBy: -5) : file.endIndex
      let serverFile = file[..<end] + ".server.json"
      // Before one of them is written.
      for path in [file, String(serverFile)] where FileManager.default.fileExists(atPath: path) {
        throw Failure("\(path.legible) exists. Name another file.")
      }
      for (path, json, mode) in [
        (file, keys.client, 0o600), (String(serverFile), keys.server, 0o644),
      ] {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_t(mode))
        guard descriptor >= 0 else {
          throw Failure("\(path.legible) is not created. \(FileError.sentence(forCode: errno))")
        }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
          .write(contentsOf: Data(json.utf8))
      }
      try Terminal.print("\(file) is for the clients, \(serverFile) for the server.")
    }
  }
#endif
