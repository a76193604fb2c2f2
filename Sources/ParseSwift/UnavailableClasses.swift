// Classes of the original that need a server. A program that uses one of them learns it when it is compiled.

@available(*, unavailable, message: "There are no accounts: see ParseSwift.withIdentity.")
public protocol ParseUser {}

@available(*, unavailable, message: "There are no role objects: see ParseIdentity.roles.")
public protocol ParseRole {}

@available(*, unavailable, message: "There are no sessions: see ParseSwift.withIdentity.")
public protocol ParseSession {}

@available(*, unavailable, message: "There are no push notifications.")
public protocol ParseInstallation {}

@available(*, unavailable, message: "Use an object of your own.")
public protocol ParseConfig {}

@available(
  *, unavailable, message: "The program and its database are one process: call a function."
)
public protocol ParseCloud {}
