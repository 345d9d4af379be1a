/** Shows code or other text for programs, with a button that copies it. */
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { useNotice } from "./notice.tsx";
import { unawaited } from "../../domain/unawaited.ts";
import { t } from "../language/text.ts";

interface CodeProps {
  readonly text: string;
  readonly label: string;
  readonly copy?: string | null;
  /** True to colour the parts of JSON. */
  readonly isJson?: boolean;
}

export function Code({ text, label, copy = t("code.copy"), isJson = false }: CodeProps) {
  return (
    <div className="code">
      {/* The element scrolls, so it must be reachable by keyboard. */}
      <pre tabIndex={0} role="region" aria-label={label} dir="auto">
        <code>{isJson && text.length <= MOST_COLORED ? colored(text) : text}</code>
      </pre>
      {copy !== null && <Copy text={text} what={label} word={copy} />}
    </div>
  );
}

/** Beyond this, the browser would take long to lay out all the parts. */
const MOST_COLORED = 20_000;

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d[\d.eE+-]*)|\b(true|false|null)\b/g;

/** Returns the text with its names, strings and other values marked. The text itself stays as it is. */
export function colored(json: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let done = 0;
  for (const found of json.matchAll(TOKEN)) {
    const [token, string, colon] = found;
    const kind = string === undefined ? "value" : colon === undefined ? "string" : "name";
    const marked = string ?? token;
    parts.push(
      json.slice(done, found.index),
      <span key={found.index} className={`json-${kind}`}>
        {marked}
      </span>,
    );
    done = found.index + marked.length;
  }
  return [...parts, json.slice(done)];
}

export function Copy({
  text,
  what,
  word = t("code.copy"),
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
      say(t("code.copied", { what }));
    } catch {
      say(t("code.yourBrowserDoesNotLet"));
    }
  };
  return (
    <Button className="small" aria-label={t("code.copyWhat", { word, what })} onClick={() => unawaited(copy())}>
      {word}
    </Button>
  );
}
