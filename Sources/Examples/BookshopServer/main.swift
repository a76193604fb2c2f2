import Bookshop
import FirebaseFirestore
import Logging
import ServiceLifecycle

// bookshop [FILE]: serves a bookshop on http://127.0.0.1:8080 until SIGTERM or SIGINT.
let path = CommandLine.arguments.dropFirst().first ?? "bookshop.hearth"
let logger = Logger(label: "bookshop")
let shop = try bookshopApplication(on: Firestore.open(at: path), logger: logger)
var configuration = ServiceGroupConfiguration(
  services: [shop], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
// A client that reads nothing does not keep the process alive.
configuration.maximumGracefulShutdownDuration = .seconds(3)
try await ServiceGroup(configuration: configuration).run()
