@main struct HearthTool { static func main() { print("hearth") } }
