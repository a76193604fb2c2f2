import Foundation
import Hearth
internal import HearthText

/// A line of a client to an emulator.
///
///     {"id":1,"type":"query","connector":"movies","operation":"ListMovies","variables":{},
///      "auth":{"uid":"ada","token":{}}}
///     {"id":2,"type":"unsubscribe","subscription":1}
///
/// The answer has the id, which is also the id of a subscription.
struct EmulatorRequest: Sendable {
  enum Action: Sendable {
    /// - Parameter marksRows: Rows have `Projection.rowMember`.
    case query(Call, marksRows: Bool)
    case mutation(Call)
    case subscribe(Call)
    case unsubscribe(subscription: Int64)
    /// To receive the rows that mutations write.
    case watchRows
  }

  /// An operation with its variables.
  struct Call: Sendable {
    /// Nil: any service.
    var service: String?
    var connector: String
    var operation: String
    var variables: DataObject
    var auth: DataConnectAuth?
    /// `DataConnectSettings.isStrict` of the program.
    var isStrict = false
    /// `DataConnectSettings.refreshesOnChange` of the program.
    var refreshesOnChange = false
  }

  var id: Int64
  var action: Action

  /// A line that is no request.
  struct SyntaxError: Error, CustomStringConvertible {
    let description: String
  }

  init(_ id: Int64, _ action: Action) {
    self.id = id
    self.action = action
  }

  /// Throws `SyntaxError`.
  init(line: [UInt8]) throws(SyntaxError) {
    let json: JSON
    do {
      json = try JSONReader.read(line)
    } catch {
      throw SyntaxError(description: "\(error)")
    }
    guard let id = json["id"]?.integer, let type = json["type"]?.string else {
      throw SyntaxError(description: "A request is an object with id, an integer, and type.")
    }
    self.id = id
    switch type {
    case "query":
      action = .query(try Call(json), marksRows: json["marksRows"] == .boolean(true))
    case "mutation": action = .mutation(try Call(json))
    case "subscribe": action = .subscribe(try Call(json))
    case "unsubscribe":
      guard let subscription = json["subscription"]?.integer else {
        throw SyntaxError(description: "subscription is the id of a request.")
      }
      action = .unsubscribe(subscription: subscription)
    case "watchRows": action = .watchRows
    default: throw SyntaxError(description: "There is no type of request \(type).")
    }
  }

  var line: String {
    var members = [JSON.Member("id", .integer(id))]
    func add(_ name: String, _ value: JSON?) {
      if let value { members.append(JSON.Member(name, value)) }
    }
    func add(_ type: String, _ call: Call) {
      add("type", .string(type))
      add("service", call.service.map { .string($0) })
      add("connector", .string(call.connector))
      add("operation", .string(call.operation))
      add("variables", JSON(call.variables))
      add(
        "auth",
        call.auth.map { auth in
          .object([.init("uid", .string(auth.uid)), .init("token", JSON(auth.token))])
        })
      if call.isStrict { add("isStrict", .boolean(true)) }
      if call.refreshesOnChange { add("refreshesOnChange", .boolean(true)) }
    }
    switch action {
    case .query(let call, let marksRows):
      add("query", call)
      if marksRows { add("marksRows", .boolean(true)) }
    case .mutation(let call): add("mutation", call)
    case .subscribe(let call): add("subscribe", call)
    case .unsubscribe(let subscription):
      add("type", .string("unsubscribe"))
      add("subscription", .integer(subscription))
    case .watchRows: add("type", .string("watchRows"))
    }
    return JSON.object(members).text
  }
}

extension EmulatorRequest.Call {
  fileprivate init(_ json: JSON) throws(EmulatorRequest.SyntaxError) {
    func object(_ json: JSON?, _ name: String) throws(EmulatorRequest.SyntaxError) -> DataObject {
      switch json {
      case nil, .null: return [:]
      case .object(let members):
        if case .object(let object) = DataValue(.object(members)) { return object }
        fallthrough
      default: throw EmulatorRequest.SyntaxError(description: "\(name) is an object.")
      }
    }
    guard let connector = json["connector"]?.string, let operation = json["operation"]?.string
    else {
      throw EmulatorRequest.SyntaxError(description: "connector and operation are names.")
    }
    self.connector = connector
    self.operation = operation
    service = json["service"]?.string
    isStrict = json["isStrict"] == .boolean(true)
    refreshesOnChange = json["refreshesOnChange"] == .boolean(true)
    variables = try object(json["variables"], "variables")
    switch json["auth"] {
    case nil, .null: auth = nil
    case let claims?:
      guard let uid = claims["uid"]?.string else {
        throw EmulatorRequest.SyntaxError(description: "auth has uid, a string.")
      }
      auth = DataConnectAuth(uid: uid, token: try object(claims["token"], "token"))
    }
  }
}
