// Re-exports the engine's public types: values, paths, tokens, errors.
@_exported public import HearthEngine
