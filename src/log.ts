/** Structured logs: JSON lines on stdout, or short lines for people on a terminal. */
import { pino } from "pino";
import { printable } from "./domain/printable.ts";

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  isLevelEnabled(level: string): boolean;
}

export interface LevelledLog extends Log {
  /** The lowest level that is written. It may be set at any time. */
  level: string;
}

/** These fields never appear in a log line, whatever is logged. */
const SECRET_FIELDS = [
  "authorization",
  "token",
  "secret",
  "signing_secret",
  "next_signing_secret",
  "headers.authorization",
  "auth",
  "password",
  "client_secret",
];

export function createLog(options: {
  format: "json" | "pretty";
  level: string;
  write: (line: string) => void;
}): LevelledLog {
  const stream = { write: options.format === "json" ? options.write : (line: string) => options.write(pretty(line)) };
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS, censor: "[redacted]" },
    },
    stream,
  );
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  isLevelEnabled: () => false,
};

function pretty(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const more = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  const text = [String(time).slice(11, 19), String(level).padEnd(5), String(msg), ...more].join(" ");
  return `${printable(text)}\n`;
}
