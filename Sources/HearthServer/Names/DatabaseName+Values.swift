#if Server
  import FirestoreProtocol
  import Foundation
  import HearthEngine
  import SwiftProtobuf

  /// Values of the engine and of the protocol. References have the database's name in the protocol,
  /// and are paths in the engine.
  extension DatabaseName {
    // MARK: From the client

    func value(_ proto: ProtoValue) throws(Status) -> Value {
      switch proto.valueType {
      case .nullValue: return .null
      case .booleanValue(let value): return .boolean(value)
      case .integerValue(let value): return .integer(value)
      case .doubleValue(let value): return .double(value)
      case .timestampValue(let time): return .timestamp(try Instant(checking: time))
      case .stringValue(let text): return .string(text)
      case .bytesValue(let bytes): return .bytes([UInt8](bytes))
      case .referenceValue(let name): return .reference(try path(of: name))
      case .geoPointValue(let point):
        return .geoPoint(Coordinate(latitude: point.latitude, longitude: point.longitude))
      case .arrayValue(let array): return .array(try values(array.values))
      case .mapValue(let map):
        if let vector = try vector(map) { return vector }
        return .map(try fields(map.fields))
      case .fieldReferenceValue, .variableReferenceValue, .functionValue, .pipelineValue:
        throw .invalidArgument("Values of this type occur only in pipelines.")
      case nil: throw .invalidArgument("A value lacks its type.")
      }
    }

    func values(_ protos: [ProtoValue]) throws(Status) -> [Value] {
      try protos.map { proto throws(Status) in try value(proto) }
    }

    func fields(_ protos: [String: ProtoValue]) throws(Status) -> MapValue {
      MapValue(
        distinct: try protos.map { name, proto throws(Status) in
          MapValue.Field(name: name, value: try value(proto))
        })
    }

    /// A vector is a map with a reserved field; nil for other maps.
    private func vector(_ map: ProtoMapValue) throws(Status) -> Value? {
      guard map.fields["__type__"]?.stringValue == "__vector__" else { return nil }
      guard map.fields.count == 2, case .arrayValue(let array)? = map.fields["value"]?.valueType
      else { throw .invalidArgument("Vector must have an array of values.") }
      let components = try array.values.map { element throws(Status) -> Double in
        guard case .doubleValue(let component)? = element.valueType else {
          throw .invalidArgument("Vector must only contain values of type 'double'")
        }
        return component
      }
      return .vector(components)
    }

    // MARK: To the client

    func proto(_ value: Value) -> ProtoValue {
      var proto = ProtoValue()
      proto.valueType =
        switch value {
        case .null: .nullValue(.nullValue)
        case .boolean(let value): .booleanValue(value)
        case .integer(let value): .integerValue(value)
        case .double(let value): .doubleValue(value)
        case .timestamp(let time): .timestampValue(.init(time))
        case .string(let text): .stringValue(text)
        case .bytes(let bytes): .bytesValue(Data(bytes))
        case .reference(let path): .referenceValue(name(of: path))
        case .geoPoint(let point):
          .geoPointValue(
            .with {
              $0.latitude = point.latitude
              $0.longitude = point.longitude
            })
        case .array(let elements): .arrayValue(.with { $0.values = elements.map(self.proto) })
        case .vector(let components): .mapValue(.vector(components))
        case .map(let map): .mapValue(.with { $0.fields = self.proto(map) })
        }
      return proto
    }

    private func proto(_ map: MapValue) -> [String: ProtoValue] {
      var fields = [String: ProtoValue](minimumCapacity: map.count)
      for field in map.fields { fields[field.name] = proto(field.value) }
      return fields
    }

    func proto(_ document: StoredDocument) throws(Status) -> ProtoDocument {
      var proto = ProtoDocument()
      proto.name = name(of: document.path)
      proto.fields = self.proto(try document.body.map())
      proto.createTime = .init(document.createTime)
      proto.updateTime = .init(document.updateTime)
      return proto
    }
  }

  extension ProtoMapValue {
    fileprivate static func vector(_ components: [Double]) -> ProtoMapValue {
      .with {
        $0.fields = [
          "__type__": .with { $0.stringValue = "__vector__" },
          "value": .with {
            $0.arrayValue = .with {
              $0.values = components.map { component in .with { $0.doubleValue = component } }
            }
          },
        ]
      }
    }
  }

  extension Google_Protobuf_Timestamp {
    init(_ time: Instant) {
      self.init(seconds: time.seconds, nanos: time.nanoseconds)
    }

    /// The time of a state. A database without commits has the first microsecond: clients on devices
    /// take the epoch for no time, and would wait for another snapshot.
    init(_ time: Timestamp) {
      let isEpoch = time.seconds == 0 && time.nanoseconds == 0
      self.init(seconds: time.seconds, nanos: isEpoch ? 1_000 : time.nanoseconds)
    }
  }

  extension Instant {
    init(checking time: Google_Protobuf_Timestamp) throws(Status) {
      guard let instant = Instant(seconds: time.seconds, nanoseconds: time.nanos) else {
        throw .invalidArgument("A timestamp is outside the years 0001 to 9999.")
      }
      self = instant
    }

    /// A time that the client has received before: in whole microseconds.
    init(exactly time: Google_Protobuf_Timestamp, _ name: String) throws(Status) {
      try self.init(checking: time)
      guard time.nanos % 1000 == 0 else {
        throw .invalidArgument("\(name) must be in whole microseconds.")
      }
    }
  }
#endif
