/// The names of SwiftUI, Combine and Core Location that the guide's samples use, as small as they get.
///
/// Observable objects are bound to the main actor, as views and their models are.

@MainActor protocol ObservableObject: AnyObject {}

@propertyWrapper
struct Published<Value> {
  var wrappedValue: Value
}

struct Color: Hashable {
  enum RGBColorSpace { case sRGB }

  var red, green, blue, opacity: Double

  init(_ space: RGBColorSpace, red: Double, green: Double, blue: Double, opacity: Double) {
    self.red = red
    self.green = green
    self.blue = blue
    self.opacity = opacity
  }

  /// `#RRGGBBAA`
  var toHex: String {
    "#"
      + [red, green, blue, opacity].map { component in
        let digits = String(Int((component * 255).rounded()), radix: 16, uppercase: true)
        return digits.count == 1 ? "0" + digits : digits
      }.joined()
  }
}

extension String {
  /// The components of `#RRGGBBAA`, each 0...1.
  func toRGBA() -> (r: Double, g: Double, b: Double, alpha: Double) {
    let number = UInt32(dropFirst(), radix: 16) ?? 0
    func component(_ shift: UInt32) -> Double { Double(number >> shift & 0xFF) / 255 }
    return (component(24), component(16), component(8), component(0))
  }
}

struct CLLocationCoordinate2D {
  var latitude, longitude: Double
}
