import Foundation
import Hearth
import HearthTesting

/// A way through the library that public calls with lists share, with lists of any length.
///
///     calls ─▶ a route ─▶ n elements  ─▶ time ─┐
///                      └▶ 4n elements ─▶ time ─┴▶ about 4 times as long
///
/// `hearth-growth` measures times, and `Scripts/growth` counts instructions with it. `GrowthTests`
/// compares the calls with the declarations in the sources: a new call that takes a list is listed in a
/// route, or has a reason for having none.
public struct GrowthRoute: Sendable {
  public typealias Work = @Sendable () async throws -> Void

  /// Unique, and a phrase for reports.
  public let name: String
  /// The calls, as `Module.Type.name(labels:)`.
  public let calls: [String]
  /// Why one measurement is enough for all calls.
  public let reason: String
  /// The smaller of the two lengths.
  public let count: Int
  private let preparation: @Sendable (GrowthShelf, Int) async throws -> Work

  /// - Parameters:
  ///   - module: The module of the calls. Users of Hearth see the types of HearthEngine in it.
  ///   - prepare: Sets up what is not measured, for a length, and returns what is.
  init(
    _ name: String, _ calls: [String], of module: String = "Hearth", because reason: String,
    count: Int = 400,
    _ prepare: @escaping @Sendable (GrowthShelf, Int) async throws -> Work
  ) {
    self.name = name
    self.calls = calls.map { module + "." + $0 }
    self.reason = reason
    self.count = count
    preparation = prepare
  }

  /// What is measured with a list of `count` elements, in a new database.
  public func work(_ count: Int) async throws -> Work {
    let shelf = try GrowthShelf()
    let work = try await preparation(shelf, count)
    return {
      try await work()
      withExtendedLifetime(shelf) {}
    }
  }

  public static let all: [GrowthRoute] =
    fields + elements + conditions + queries + settings + objects + objectQueries

  /// Calls that no route measures, with the reason.
  public static let exempt: [String: String] = {
    let literal = "A literal of a program, which copies it."
    let once = "Looks at each element once, on no thread of the database."
    return [
      "Hearth.Array.init(reading:)": "Reads a stored value of a model, as its macro generates it.",
      "Hearth.Array.write(to:)": "Writes a value of a model, as its macro generates it.",
      "Hearth.Dictionary.init(reading:)":
        "Reads a stored value of a model, as its macro generates it.",
      "Hearth.Dictionary.write(to:)": "Writes a value of a model, as its macro generates it.",
      "Hearth.DocumentFields.init(_:)": "The names of a model's properties, made once for a type.",
      "Hearth.FirestoreErrorCode.Constraint.init(collectionID:fields:)": "Keeps the list.",
      "Hearth.FirestoreErrorCode.init(_:userInfo:)": "Keeps the dictionary.",
      "Hearth.LayerBenchmarks.find(_:in:)": "For the benchmarks alone.",
      "Hearth.LayerBenchmarks.validate(documentBytes:)": "For the benchmarks alone.",
      "ParseSwift.Error.containedIn(_:)": once,
      "ParseSwift.ParseIdentity.init(user:roles:)": once,
      "ParseSwift.Query.aggregate(_:)": "Unavailable.",
      "ParseSwift.matchesText(key:text:options:)": "There are three options.",
      "FirebaseDataConnect.AnyCancellable.store(in:)": "Inserts itself into the caller's set.",
      "FirebaseDataConnect.Array.init(dataConnectValue:)": once,
      "FirebaseDataConnect.DataObject.init(dictionaryLiteral:)": literal,
      "FirebaseDataConnect.DataValue.init(arrayLiteral:)": literal,
      "FirebaseDataConnect.DataValue.init(dictionaryLiteral:)": literal,
      "FirebaseDataConnect.OperationFailureResponse.ErrorInfo.init(message:path:)":
        "Keeps the path.",
      "HearthTesting.expectRoundTrip(_:encoder:decoder:in:ignoring:fileID:line:)":
        "For tests: the names of fields of one model.",
      "HearthTesting.expectRoundTrips(_:encoder:decoder:in:ignoring:fileID:line:)":
        "For tests: a write and a read for each model.",
      "HearthServer.FirestoreServer.replaceKeys(_:serviceAccounts:)": once,
      "HearthService.Firestore.reportMetrics(label:dimensions:factory:)":
        "Called once, with the dimensions of a service.",
    ]
  }()
}

/// A database for one measurement.
final class GrowthShelf: Sendable {
  let database: TemporaryDatabase
  var db: Firestore { database.firestore }
  var books: CollectionReference { db.collection("books") }
  var dune: DocumentReference { books.document("dune") }

  init() throws { database = try TemporaryDatabase() }

  /// Names that are not in order.
  static func names(_ count: Int, _ prefix: String = "name") -> [String] {
    (0..<count).map { "\(prefix) \(($0 * 7919) % 1_000_003)" }
  }

  /// Runs the body, which may refuse a list that is longer than what is allowed.
  static func attempt(_ body: () async throws -> Void) async {
    do { try await body() } catch {}
  }

  /// A route does not do what it measures.
  struct IsWrong: Error {}
}
