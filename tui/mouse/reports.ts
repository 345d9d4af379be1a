/**
 * Removes mouse reports (SGR, mode 1006) from the terminal's input before anything else reads it. Reports are outside
 * input: one that is cut, out of bounds or of an unknown kind must count neither as a click nor as keys. Pasted text
 * stays as it is, even if it contains reports.
 */

export interface MouseReport {
  readonly kind: "press" | "release" | "up" | "down";
  /** Counted from the upper left corner, which is 0, 0. */
  readonly column: number;
  readonly row: number;
}

const REPORT = /^\x1b\[<(\d{1,3});(\d{1,5});(\d{1,5})([Mm])/;
/** Matches anything that begins like a report, up to where it must end. */
const LIKE = /^\x1b\[<[\x20-\x3f]*[\x40-\x7e]?/;
/** Matches reports of terminals without mode 1006: three characters of any kind follow. */
const OLD = /^\x1b\[M[^]{0,3}/;
const OLD_LENGTH = 6;
/**
 * Matches the beginning of a sequence whose other part comes with the next chunk. A single Esc is a key, and is not
 * held back.
 */
const CUT = /^\x1b(\[|\[<[\x20-\x3f]*|\[2|\[20|\[200)$/;
const [PASTE, PASTE_END] = ["\x1b[200~", "\x1b[201~"];
/**
 * The maximum number of characters held back for one sequence. A longer one is not a report, but is still read to its
 * end.
 */
const MOST = 32;
const KINDS: Readonly<Record<string, MouseReport["kind"]>> = {
  "0M": "press",
  "0m": "release",
  "64M": "up",
  "65M": "down",
};

export interface Taken {
  /** The input for the keyboard. */
  readonly text: string;
  readonly reports: readonly MouseReport[];
}

export class MouseReports {
  #held = "";
  #isPaste = false;

  /** Takes input of the terminal, in chunks that may end anywhere. */
  take(chunk: string): Taken {
    let rest = this.#held + chunk;
    let text = "";
    const reports: MouseReport[] = [];
    this.#held = "";
    while (rest !== "") {
      const end = this.#isPaste ? this.#pasteEnd(rest) : plainEnd(rest);
      text += rest.slice(0, end);
      rest = rest.slice(end);
      if (rest === "") break;
      if (this.#isPaste || rest.startsWith(PASTE)) {
        const marker = this.#isPaste ? PASTE_END : PASTE;
        if (!rest.startsWith(marker)) return this.#waitFor(rest, { text, reports });
        this.#isPaste = !this.#isPaste;
        text += marker;
        rest = rest.slice(marker.length);
        continue;
      }
      const old = OLD.exec(rest)?.[0];
      if (CUT.test(rest) || (old !== undefined && old === rest && old.length < OLD_LENGTH)) {
        return this.#waitFor(rest, { text, reports });
      }
      const found = old ?? LIKE.exec(rest)?.[0];
      if (found === undefined) {
        text += rest[0]!;
        rest = rest.slice(1);
        continue;
      }
      const report = reportIn(found);
      if (report !== null) reports.push(report);
      rest = rest.slice(found.length);
    }
    return { text, reports };
  }

  #waitFor(rest: string, taken: Taken): Taken {
    this.#held = rest.slice(0, MOST);
    return taken;
  }

  /** Returns the index at which the paste ends, or may begin to end. */
  #pasteEnd(rest: string): number {
    const whole = rest.indexOf(PASTE_END);
    if (whole >= 0) return whole;
    for (let length = Math.min(PASTE_END.length - 1, rest.length); length > 0; length--) {
      if (rest.endsWith(PASTE_END.slice(0, length))) return rest.length - length;
    }
    return rest.length;
  }
}

function plainEnd(rest: string): number {
  const at = rest.indexOf("\x1b");
  return at < 0 ? rest.length : at;
}

/** Returns null for reports that have no meaning here: other buttons, modifier keys, a moving pointer. */
function reportIn(text: string): MouseReport | null {
  const [whole, button, column, row, end] = REPORT.exec(text) ?? [];
  const kind = whole === text ? KINDS[`${button}${end}`] : undefined;
  const [x, y] = [Number(column) - 1, Number(row) - 1];
  return kind === undefined || x < 0 || y < 0 ? null : { kind, column: x, row: y };
}
