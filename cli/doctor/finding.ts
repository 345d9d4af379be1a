/** One line of `doctor`'s output. It may contain outside text. */
export interface Finding {
  readonly level: "ok" | "warn" | "FAIL";
  /** The thing that was checked, in one or two words. */
  readonly subject: string;
  readonly what: string;
  /** The command to type, or the action to take. */
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
