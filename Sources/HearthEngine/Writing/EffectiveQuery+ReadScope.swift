extension EffectiveQuery {
  /// An answer waits for writes within this scope.
  var readScope: ReadScope { filters.hasSemiJoins ? .everything : scope.readScope }
}
