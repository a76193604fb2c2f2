// What users name of the engine (values, paths, tokens, errors) is Hearth's as well.
@_exported public import HearthEngine
