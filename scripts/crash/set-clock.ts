/**
 * Simulates a host with a wrong clock for one process. It is loaded before the program, and makes `Date` show the time
 * ahead by the milliseconds in the file that WEBHOOKD_CRASH_CLOCK names, within 20 ms after the file changes.
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
