/** How something stands: a colour, a sign, and always the word. */
import type { ReactNode } from "react";

export type Tone = "good" | "bad" | "warn" | "wait" | "off";

const SIGNS: Readonly<Record<Tone, string>> = {
  good: "M4 8.5 7 11.5 12.5 5",
  bad: "M5 5l6 6M11 5l-6 6",
  warn: "M8 4v5M8 11.8v.2",
  wait: "M8 4.5V8l2.5 2",
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
