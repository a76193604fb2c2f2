import Foundation
import Hearth
import TestSupport
import Testing

/// Callbacks come back to where they were handed over. Source that compiles has no silent race: the
/// state below is not locked, and the thread sanitizer watches.
@Suite(.ownThreads) struct IsolationTests {
  let folder = TemporaryFolder()

  @MainActor final class ViewModel {
    var events: [String] = []
    var registration: (any ListenerRegistration)?

    func begin(_ document: DocumentReference) {
      registration = document.addSnapshotListener { snapshot, _ in
        MainActor.preconditionIsolated()
        self.events.append("heard \(snapshot?["n"] as? Int ?? 0)")
      }
      document.setData(["n": 1]) { error in
        MainActor.preconditionIsolated()
        self.events.append("set \(error == nil)")
        document.getDocument { snapshot, _ in
          MainActor.preconditionIsolated()
          self.events.append("got \(snapshot?["n"] as? Int ?? 0)")
        }
        document.parent.getDocuments { snapshot, _ in
          MainActor.preconditionIsolated()
          self.events.append("counted \(snapshot?.count ?? 0)")
        }
        document.collection("none").document("none").updateData(["n": 1]) { error in
          MainActor.preconditionIsolated()
          self.events.append("not found \((error as NSError?)?.code == 5)")
        }
      }
    }

    func end() { registration?.remove() }
  }

  actor Shelf {
    var events: [String] = []
    var registration: (any ListenerRegistration)?

    func begin(_ document: DocumentReference) {
      registration = document.addSnapshotListener { snapshot, _ in
        self.preconditionIsolated()
        self.events.append("heard \(snapshot?["n"] as? Int ?? 0)")
      }
      document.setData(["n": 1]) { error in
        self.preconditionIsolated()
        self.events.append("set \(error == nil)")
        document.getDocument { snapshot, _ in
          self.preconditionIsolated()
          self.events.append("got \(snapshot?["n"] as? Int ?? 0)")
        }
        document.parent.getDocuments { snapshot, _ in
          self.preconditionIsolated()
          self.events.append("counted \(snapshot?.count ?? 0)")
        }
        document.collection("none").document("none").updateData(["n": 1]) { error in
          self.preconditionIsolated()
          self.events.append("not found \((error as NSError?)?.code == 5)")
        }
      }
    }

    func end() { registration?.remove() }
  }

  private let expected: Set = [
    "heard 1", "set true", "got 1", "counted 1", "not found true",
  ]

  @Test func `callbacks of a view model come to the main actor`() async throws {
    let db = try Firestore.open(at: folder.path + "/main.hearth")
    let model = ViewModel()
    await model.begin(db.document("books/dune"))
    try await eventually { await expected.isSubset(of: model.events) }
    await model.end()
    try await db.document("books/dune").setData(["n": 2])
    #expect(await !model.events.contains("heard 2"))
    try await db.terminate()
  }

  @Test func `callbacks of an actor come to that actor`() async throws {
    let db = try Firestore.open(at: folder.path + "/actor.hearth")
    let shelf = Shelf()
    await shelf.begin(db.document("books/dune"))
    try await eventually { await expected.isSubset(of: shelf.events) }
    await shelf.end()
    try await db.terminate()
  }

  @Test func `callbacks handed over from nowhere run on the settings' queue`() async throws {
    let key = DispatchSpecificKey<Int>()
    let queue = DispatchQueue(label: "callbacks")
    queue.setSpecific(key: key, value: 7)
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    let db = try Firestore.open(at: folder.path + "/queue.hearth", settings: settings)
    let places = Guarded<[String: Int?]>([:])
    func note(_ name: String) {
      let place = DispatchQueue.getSpecific(key: key)
      places.withLock { $0[name] = .some(place) }
    }
    let document = db.document("books/dune")
    let registration = document.addSnapshotListener { _, _ in note("listen") }
    document.setData(["n": 1]) { _ in note("set") }
    document.getDocument { _, _ in note("get") }
    document.parent.getDocuments { _, _ in note("query") }
    document.updateData(["n": 2]) { _ in note("update") }
    document.delete { _ in note("delete") }
    db.waitForPendingWrites { _ in note("wait") }
    try await eventually { places.withLock { $0.count == 7 } }
    #expect(places.withLock { $0.values.allSatisfy { $0 == 7 } })
    registration.remove()
    try await db.terminate()
  }
}
