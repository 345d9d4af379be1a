/**
 * A host whose clock is wrong, for one process: loaded before the program, it has `Date` show what the file that
 * WEBHOOKD_CRASH_CLOCK names is ahead by, in milliseconds, from at most 20 ms after that was written.
 */
import { readFileSync } from "node:fs";

const LOOK_MS = 20;
const file = process.env["WEBHOOKD_CRASH_CLOCK"]!;
const RealDate = Date;
let aheadMs = 0;

function look(): void {
  try {
    aheadMs = Number(readFileSync(file, "utf8"));
  } catch {
    aheadMs = 0;
  }
}

look();
setInterval(look, LOOK_MS).unref();

globalThis.Date = new Proxy(RealDate, {
  construct: (target, values: [], self) =>
    Reflect.construct(target, values.length === 0 ? [RealDate.now() + aheadMs] : values, self),
  get: (target, name) => (name === "now" ? () => RealDate.now() + aheadMs : Reflect.get(target, name)),
});
