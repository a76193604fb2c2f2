import Foundation
import Hearth
internal import HearthText

/// A line of an emulator to a client.
///
///     {"emulator":"hearth","version":1}                      the first
///     {"id":1,"data":{…}}                                    an answer
///     {"id":1,"data":{…},"errors":[{"message":"…","path":["movie_insert",0]}],"cause":{…}}
///     {"id":1,"data":{…},"lookups":[["movie","1"]]}          with the rows that were read by their keys
///     {"id":1,"data":{…},"misfits":["The row …"]}            with values of other forms than their columns'
///     {"id":1,"failure":"connector","message":"…"}           nothing was executed
///     {"refresh":1}                                          a signal for the subscription 1
///     {"written":[["movie","1"]]}                            rows: the collection, and the document
///     {"written":"all"}                                      any rows
///     {"error":"…"}                                          of the connection, which ends
enum EmulatorMessage: Sendable {
  case greeting
  case answer(Int64, Result<OperationResponse, any Error>)
  case refresh(Int64)
  case written(Set<RowIdentity>)
  case anyWritten
  case error(String)

  private static let version: Int64 = 1

  var line: String { JSON.object(members).text }

  private var members: [JSON.Member] {
    switch self {
    case .greeting:
      [.init("emulator", .string("hearth")), .init("version", .integer(Self.version))]
    case .answer(let id, .success(let response)): [.init("id", .integer(id))] + response.members
    case .answer(let id, .failure(let error)): [.init("id", .integer(id))] + Self.members(of: error)
    case .refresh(let id): [.init("refresh", .integer(id))]
    case .written(let rows): [.init("written", JSON(rows))]
    case .anyWritten: [.init("written", .string("all"))]
    case .error(let text): [.init("error", .string(text))]
    }
  }

  /// Nil for a line that an emulator does not send.
  init?(line: [UInt8]) {
    guard let json = try? JSONReader.read(line) else { return nil }
    if let id = json["id"]?.integer {
      if let failure = json["failure"]?.string {
        self = .answer(id, .failure(Self.error(failure, json)))
      } else if let response = OperationResponse(json) {
        self = .answer(id, .success(response))
      } else {
        return nil
      }
    } else if let id = json["refresh"]?.integer {
      self = .refresh(id)
    } else if let written = json["written"], case .array = written {
      guard let rows = written.rows else { return nil }
      self = .written(rows)
    } else if json["written"]?.string == "all" {
      self = .anyWritten
    } else if let text = json["error"]?.string {
      self = .error(text)
    } else if json["emulator"]?.string == "hearth", json["version"] == .integer(Self.version) {
      self = .greeting
    } else {
      return nil
    }
  }

  // MARK: Errors

  private static func members(of error: any Error) -> [JSON.Member] {
    let failure =
      switch error {
      case is DataConnectOperationError: "operation"
      case is DataConnectInitError: "connector"
      default: "internal"
      }
    var members = [
      JSON.Member("failure", .string(failure)), JSON.Member("message", .string("\(error)")),
    ]
    if let cause = (error as? any DataConnectError)?.underlyingError {
      members.append(JSON.Member("cause", JSON(cause: cause)))
    }
    return members
  }

  private static func error(_ failure: String, _ json: JSON) -> any Error {
    let message = json["message"]?.string ?? ""
    let cause = json["cause"].flatMap(\.cause)
    return switch failure {
    case "operation": DataConnectOperationError(message, cause)
    case "connector": DataConnectInitError(.invalidConnector, message, cause)
    default: DataConnectInternalError(.internalError, message, cause)
    }
  }
}

extension JSON {
  /// The error that led to a failure.
  fileprivate init(cause: any Error) {
    let error = cause as NSError
    let isOfDatabase = error.domain == FirestoreErrorDomain
    self = .object([
      .init("domain", .string(error.domain)), .init("code", .integer(Int64(error.code))),
      .init("message", .string(isOfDatabase ? error.localizedDescription : "\(cause)")),
    ])
  }

  fileprivate var cause: (any Error)? {
    guard let domain = self["domain"]?.string, let code = self["code"]?.integer,
      let message = self["message"]?.string
    else { return nil }
    return NSError(
      domain: domain, code: Int(code), userInfo: [NSLocalizedDescriptionKey: message])
  }
}

extension JSON {
  fileprivate init(_ rows: Set<RowIdentity>) {
    self = .array(rows.map { .array([.string($0.collectionID), .string($0.documentID)]) })
  }

  /// Nil for another form.
  fileprivate var rows: Set<RowIdentity>? {
    guard case .array(let elements) = self else { return nil }
    var rows: Set<RowIdentity> = []
    for case .array(let names) in elements {
      guard names.count == 2, let table = names[0].string, let id = names[1].string else {
        return nil
      }
      rows.insert(RowIdentity(table, id))
    }
    return rows
  }
}

extension OperationResponse {
  fileprivate var members: [JSON.Member] {
    var members = [JSON.Member("data", JSON(fields))]
    if !errors.isEmpty {
      members.append(JSON.Member("errors", .array(errors.map { JSON($0) })))
    }
    if let cause { members.append(JSON.Member("cause", JSON(cause: cause))) }
    if !lookups.isEmpty { members.append(JSON.Member("lookups", JSON(lookups))) }
    if !misfits.isEmpty {
      members.append(JSON.Member("misfits", .array(misfits.map { .string($0) })))
    }
    return members
  }

  fileprivate init?(_ json: JSON) {
    guard let data = json["data"], case .object(let fields) = DataValue(data) else { return nil }
    self.init(fields: fields)
    if case .array(let elements)? = json["errors"] {
      for element in elements {
        guard let error = OperationFailureResponse.ErrorInfo(element) else { return nil }
        errors.append(error)
      }
    }
    cause = json["cause"].flatMap(\.cause)
    lookups = json["lookups"].flatMap(\.rows) ?? []
    if case .array(let sentences)? = json["misfits"] { misfits = sentences.compactMap(\.string) }
  }
}

extension JSON {
  fileprivate init(_ error: OperationFailureResponse.ErrorInfo) {
    var members = [Member("message", .string(error.message))]
    if let path = error.path {
      let segments = path.map { segment -> JSON in
        switch segment {
        case .field(let name): .string(name)
        case .listIndex(let index): .integer(Int64(index))
        }
      }
      members.append(Member("path", .array(segments)))
    }
    self = .object(members)
  }
}

extension OperationFailureResponse.ErrorInfo {
  fileprivate init?(_ json: JSON) {
    guard let message = json["message"]?.string else { return nil }
    var path: [DataConnectPathSegment]?
    if case .array(let segments)? = json["path"] {
      path = []
      for segment in segments {
        switch segment {
        case .string(let name): path?.append(.field(name))
        case .integer(let index): path?.append(.listIndex(Int(index)))
        default: return nil
        }
      }
    }
    self.init(message: message, path: path)
  }
}
