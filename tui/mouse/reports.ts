/**
 * Mouse reports (SGR, mode 1006) are taken out of what the terminal sends before anything else reads it. They are input
 * from outside: of a report that is cut, out of bounds, of another kind or of no kind nothing gets through, neither as a
 * click nor as keys. What is pasted is text, reports in it included.
 */

export interface MouseReport {
  readonly kind: "press" | "release" | "up" | "down";
  /** From the upper left corner, which is 0, 0. */
  readonly column: number;
  readonly row: number;
}

const REPORT = /^\x1b\[<(\d{1,3});(\d{1,5});(\d{1,5})([Mm])/;
/** Anything that begins like one, up to where it must end. */
const LIKE = /^\x1b\[<[\x20-\x3f]*[\x40-\x7e]?/;
/** As terminals without mode 1006 send them: three characters of any kind follow. */
const OLD = /^\x1b\[M[^]{0,3}/;
const OLD_LENGTH = 6;
/** The rest of it comes with the next chunk. An Esc alone is a key, and not waited for. */
const CUT = /^\x1b(\[|\[<[\x20-\x3f]*|\[2|\[20|\[200)$/;
const [PASTE, PASTE_END] = ["\x1b[200~", "\x1b[201~"];
/** Of a report; what is longer is none, and waited for all the same. */
const MOST = 32;
const KINDS: Readonly<Record<string, MouseReport["kind"]>> = {
  "0M": "press",
  "0m": "release",
  "64M": "up",
  "65M": "down",
};

export interface Taken {
  /** What is left for the keyboard. */
  readonly text: string;
  readonly reports: readonly MouseReport[];
}

export class MouseReports {
  #held = "";
  #isPaste = false;

  /** What a terminal sent, in chunks that may end anywhere. */
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

  /** Where the paste ends, or may begin to. */
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

/** Null for one that says nothing to us: other buttons, keys held down, a pointer that moves. */
function reportIn(text: string): MouseReport | null {
  const [whole, button, column, row, end] = REPORT.exec(text) ?? [];
  const kind = whole === text ? KINDS[`${button}${end}`] : undefined;
  const [x, y] = [Number(column) - 1, Number(row) - 1];
  return kind === undefined || x < 0 || y < 0 ? null : { kind, column: x, row: y };
}
