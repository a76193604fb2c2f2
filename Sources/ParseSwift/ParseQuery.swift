/// Another name of ``Query``, for files that also import `FirebaseFirestore` or `Hearth`, whose
/// `Query` is not generic.
///
///     import FirebaseFirestore
///     import ParseSwift
///
///     let recent: ParseQuery<Book> = Book.query("publishingYear" > 1960)
public typealias ParseQuery<T: ParseObject> = Query<T>

extension ParseSwift {
  /// Same as ``ParseQuery``: the name of the module is that of this type, and leads here.
  public typealias Query<T: ParseObject> = ParseQuery<T>
}
