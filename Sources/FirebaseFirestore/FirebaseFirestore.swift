@_exported import Hearth
