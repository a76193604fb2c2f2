// As on Apple's platforms, where importing this module imports Foundation too.
@_exported import Foundation
@_exported import Hearth
