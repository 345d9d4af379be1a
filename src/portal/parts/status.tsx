/** Shows a status: a colour, a sign, and always the word. */
import type { ReactNode } from "react";
import { t } from "../language/text.ts";

export type Tone = "good" | "bad" | "warn" | "wait" | "off";

const SIGNS: Readonly<Record<Tone, string>> = {
  good: "M4 8.5 7 11.5 12.5 5",
  bad: "M5 5l6 6M11 5l-6 6",
  warn: "M12.6 6.6A5 5 0 1 0 13 8.6M13 3.6v3.2H9.8",
  wait: "M8 4.2a3.8 3.8 0 1 0 0 7.6a3.8 3.8 0 1 0 0-7.6",
  off: "M4.5 8h7",
};

export function Status({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={`status ${tone}`}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path
          d={SIGNS[tone]}
          fill="none"
          stroke="currentColor"
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      </svg>
      {children}
    </span>
  );
}

/** Marks an event type that is on its way out. */
export function Deprecated() {
  return <Status tone="warn">{t("status.deprecated")}</Status>;
}
