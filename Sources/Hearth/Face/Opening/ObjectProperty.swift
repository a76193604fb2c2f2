/// A property of an object that is copied and compared by its value.
struct ObjectProperty<Object: AnyObject & SendableMetatype>: Sendable {
  let copy: @Sendable (_ from: Object, _ to: Object) -> Void
  let isEqual: @Sendable (Object, Object) -> Bool

  init<Value: Equatable & SendableMetatype>(
    _ path: any ReferenceWritableKeyPath<Object, Value> & Sendable
  ) {
    copy = { $1[keyPath: path] = $0[keyPath: path] }
    isEqual = { $0[keyPath: path] == $1[keyPath: path] }
  }
}
