import Bookshop
import FirebaseFirestore

// bookshop [FILE]: serves a bookshop on http://127.0.0.1:8080 until SIGTERM or SIGINT.
let path = CommandLine.arguments.dropFirst().first ?? "bookshop.hearth"
try await bookshopApplication(on: Firestore.open(at: path)).runService()
