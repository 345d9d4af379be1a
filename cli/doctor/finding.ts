/** One line of what `doctor` says. Holds outside text. */
export interface Finding {
  readonly level: "ok" | "warn" | "FAIL";
  /** What was looked at, in one or two words. */
  readonly subject: string;
  readonly what: string;
  /** What to type or to do about it. */
  readonly todo?: string;
}

export function ok(subject: string, what: string): Finding {
  return { level: "ok", subject, what };
}

export function warn(subject: string, what: string, todo: string): Finding {
  return { level: "warn", subject, what, todo };
}

export function fail(subject: string, what: string, todo: string): Finding {
  return { level: "FAIL", subject, what, todo };
}
