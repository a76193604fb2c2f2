import FirebaseFirestore
import Observation

/// A named color.
public struct ColorEntry: Codable, Hashable, Identifiable, Sendable {
  @DocumentID public var id: String?
  public var name: String
  public var red: Double
  public var green: Double
  public var blue: Double

  public static let empty = ColorEntry(name: "", red: 0, green: 0, blue: 0)

  public init(name: String, red: Double, green: Double, blue: Double) {
    self.name = name
    self.red = red
    self.green = green
    self.blue = blue
  }
}

/// The colors, which follow the database while the model is subscribed.
@MainActor @Observable
public final class ColorsViewModel {
  public private(set) var colorEntries: [ColorEntry] = []
  public var newColor = ColorEntry.empty
  public private(set) var errorMessage: String?

  private let db: Firestore
  private var listenerRegistration: (any ListenerRegistration)?

  public init(db: Firestore = .firestore()) { self.db = db }

  public func subscribe() {
    guard listenerRegistration == nil else { return }
    // Runs on the main actor, as this method does.
    listenerRegistration = db.collection("colors").order(by: "name")
      .addSnapshotListener { [weak self] snapshot, error in
        self?.show(snapshot, error)
      }
  }

  public func unsubscribe() {
    listenerRegistration?.remove()
    listenerRegistration = nil
  }

  /// The list needs no update here: the listener receives the new color.
  public func addColorEntry() async {
    do {
      try await db.collection("colors").document().setData(committing: newColor)
      newColor = .empty
    } catch {
      errorMessage = message(for: error)
    }
  }

  private func show(_ snapshot: QuerySnapshot?, _ error: (any Error)?) {
    guard let snapshot else {
      errorMessage = error.map(message)
      return
    }
    errorMessage = nil
    colorEntries = snapshot.documents.compactMap { document in
      do {
        return try document.data(as: ColorEntry.self)
      } catch {
        errorMessage = message(for: error)
        return nil
      }
    }
  }
}
