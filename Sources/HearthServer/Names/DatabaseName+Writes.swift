#if Server
  import FirestoreProtocol
  import HearthEngine

  extension DatabaseName {
    func mutations(_ protos: [ProtoWrite]) throws(Status) -> [Mutation] {
      try protos.map { proto throws(Status) in try mutation(proto) }
    }

    func mutation(_ proto: ProtoWrite) throws(Status) -> Mutation {
      let (path, operation) = try operation(proto)
      var transforms = proto.updateTransforms
      if case .transform(let legacy)? = proto.operation { transforms += legacy.fieldTransforms }
      return Mutation(
        path: path, operation: operation,
        transforms: try transforms.map { proto throws(Status) in
          (try FieldSegments(wireText: proto.fieldPath), try transform(proto))
        },
        precondition: proto.hasCurrentDocument ? try precondition(proto.currentDocument) : .none)
    }

    private func operation(
      _ proto: ProtoWrite
    ) throws(Status) -> (ResourcePath, Mutation.Operation) {
      if proto.hasUpdateMask {
        guard case .update? = proto.operation else {
          throw .invalidArgument("An update mask requires an update.")
        }
      }
      switch proto.operation {
      case .update(let document):
        let fields = try DocumentBody(encoding: fields(document.fields))
        let path = try path(of: document.name)
        guard proto.hasUpdateMask else { return (path, .set(fields)) }
        let mask = try proto.updateMask.fieldPaths.map { text throws(Status) in
          try FieldSegments(wireText: text)
        }
        return (path, .patch(fields, mask: mask))
      case .delete(let name): return (try path(of: name), .delete)
      case .verify(let name): return (try path(of: name), .verify)
      case .transform(let transform):
        return (try path(of: transform.document), .patch(.empty, mask: []))
      case nil: throw .invalidArgument("A write lacks its operation.")
      }
    }

    private func transform(
      _ proto: ProtoDocumentTransform.FieldTransform
    ) throws(Status) -> FieldTransform {
      switch proto.transformType {
      case .setToServerValue(.requestTime): return .serverTimestamp
      case .setToServerValue: throw .invalidArgument("A transform has an unknown server value.")
      case .increment(let operand): return .increment(try value(operand))
      case .maximum(let operand): return .maximum(try value(operand))
      case .minimum(let operand): return .minimum(try value(operand))
      case .appendMissingElements(let array): return .arrayUnion(try values(array.values))
      case .removeAllFromArray(let array): return .arrayRemove(try values(array.values))
      case nil: throw .invalidArgument("A transform lacks its type.")
      }
    }

    func precondition(_ proto: ProtoPrecondition) throws(Status) -> Mutation.Precondition {
      switch proto.conditionType {
      case .exists(let exists): .exists(exists)
      case .updateTime(let time):
        .updateTime(try Instant(exactly: time, "The update time of a precondition"))
      case nil: .none
      }
    }

    func proto(_ result: MutationResult) -> ProtoWriteResult {
      var proto = ProtoWriteResult()
      if let time = result.updateTime { proto.updateTime = .init(time) }
      proto.transformResults = result.transformResults.map(self.proto)
      return proto
    }

    /// The engine names documents by their paths; clients know them by their names.
    func named(_ status: Status) -> Status {
      var status = status
      for beginning in ["Document already exists: ", "No document to update: "]
      where status.message.hasPrefix(beginning) {
        status.message =
          beginning + text + "/documents/" + status.message.dropFirst(beginning.count)
      }
      return status
    }
  }
#endif
