/** Shows code or other text for programs, with a button that copies it. */
import { Button } from "./button.tsx";
import { useNotice } from "./notice.tsx";
import { unawaited } from "../../domain/unawaited.ts";

export function Code({ text, label, copy = "Copy" }: { text: string; label: string; copy?: string | null }) {
  return (
    <div className="code">
      {/* The element scrolls, so it must be reachable by keyboard. */}
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
      if (typeof text === "string") await navigator.clipboard.writeText(text);
      // Safari lets a page copy only right after a click, but accepts a promise then.
      else await navigator.clipboard.write([new ClipboardItem({ "text/plain": text() })]);
      say(`Copied: ${what}`);
    } catch {
      say("Your browser does not let this page copy. Select the text instead.");
    }
  };
  return (
    <Button className="small" aria-label={`${word}: ${what}`} onClick={() => unawaited(copy())}>
      {word}
    </Button>
  );
}
