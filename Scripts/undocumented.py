"""Prints how many public declarations of a module have a documentation comment, and the places of those that have none.

Arguments: the module, and its symbol graphs. Ends with status 1 if a comment is missing.
"""

import json
import sys

module, *graphs = sys.argv[1:]
declarations = {}
for graph in graphs:
    with open(graph) as file:
        for symbol in json.load(file)["symbols"]:
            # Without a location: made by the compiler.
            if "location" in symbol:
                declarations[symbol["identifier"]["precise"]] = symbol

missing = sorted(
    (symbol["location"]["uri"].removeprefix("file://"), symbol["location"]["position"]["line"] + 1,
     ".".join(symbol["pathComponents"]))
    for symbol in declarations.values() if "docComment" not in symbol)
examples = sum(
    any(line["text"].startswith(("    ", "```")) for line in symbol["docComment"]["lines"])
    for symbol in declarations.values() if "docComment" in symbol)
print(f"{module}: {len(declarations)} public declarations, {len(missing)} without a comment, "
      f"{examples} with an example")
for path, line, name in missing:
    print(f"  {path}:{line}: {name}")
sys.exit(1 if missing else 0)
