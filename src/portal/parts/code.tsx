/** Text that programs made or read, and how to copy it. */
import { Button } from "./button.tsx";
import { useNotice } from "./notice.tsx";

export function Code({ text, label, copy = "Copy" }: { text: string; label: string; copy?: string | null }) {
  return (
    <div className="code">
      {/* It scrolls, so the keyboard must be able to get to it. */}
      <pre tabIndex={0} role="region" aria-label={label} dir="auto">
        <code>{text}</code>
      </pre>
      {copy !== null && <Copy text={text} what={label} word={copy} />}
    </div>
  );
}

export function Copy({
  text,
  what,
  word = "Copy",
}: {
  text: string | (() => Promise<string>);
  what: string;
  word?: string;
}) {
  const say = useNotice();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : await text());
      say(`Copied: ${what}`);
    } catch {
      say("Your browser does not let this page copy. Select the text instead.");
    }
  };
  return (
    <Button className="small" aria-label={`${word}: ${what}`} onClick={() => void copy()}>
      {word}
    </Button>
  );
}

/** JSON with its lines broken, without touching a digit of it: numbers may be larger than JavaScript's. */
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
