// Classes of the original that need a server. A program that uses one of them learns it when it is compiled.

/// Parse's user. There are no accounts here: pass a `ParseIdentity`.
@available(*, unavailable, message: "There are no accounts: see ParseSwift.withIdentity.")
public protocol ParseUser {}

/// Parse's role. A role is a name in `ParseIdentity.roles` and in a `ParseACL`.
@available(*, unavailable, message: "There are no role objects: see ParseIdentity.roles.")
public protocol ParseRole {}

/// Parse's session. A request has the identity of `ParseSwift.withIdentity(_:_:)`.
@available(*, unavailable, message: "There are no sessions: see ParseSwift.withIdentity.")
public protocol ParseSession {}

/// Parse's installation of an app on a device, for push notifications.
@available(*, unavailable, message: "There are no push notifications.")
public protocol ParseInstallation {}

/// Parse's configuration, which a server distributes.
@available(*, unavailable, message: "Use an object of your own.")
public protocol ParseConfig {}

/// Parse's functions on a server.
@available(
  *, unavailable, message: "The program and its database are one process: call a function."
)
public protocol ParseCloud {}

/// Parse's check of a server.
@available(*, unavailable, message: "There is no server: see Firestore.check.")
public enum ParseHealth {}

/// Parse's version of its SDK.
@available(*, unavailable, message: "There is no SDK of Parse: the version is that of the package.")
public struct ParseVersion {}

/// Parse's messages to devices.
@available(*, unavailable, message: "There are no push notifications.")
public struct ParsePush {}

/// Parse's events for statistics.
@available(*, unavailable, message: "Save an object of your own.")
public struct ParseAnalytics {}
