/** Indents JSON without parsing it, because its numbers may be larger than JavaScript's. */
export function indented(json: string): string {
  let [text, depth, inString] = ["", 0, false];
  const line = () => `\n${"  ".repeat(depth)}`;
  for (let at = 0; at < json.length; at++) {
    const char = json[at]!;
    if (inString) {
      text += char === "\\" ? char + json[++at] : char;
      inString = char !== '"';
    } else if (/\s/.test(char)) continue;
    else if (char === "{" || char === "[") {
      const end = /^\s*[}\]]/.exec(json.slice(at + 1, at + 40));
      if (end !== null) text += char + json[(at += end[0].length)];
      else text += char + (depth++, line());
    } else if (char === "}" || char === "]") text += (depth--, line()) + char;
    else if (char === ",") text += char + line();
    else if (char === ":") text += ": ";
    else {
      inString = char === '"';
      text += char;
    }
  }
  return text;
}
