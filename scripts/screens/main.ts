/**
 * Makes the pictures of `docs/dashboard.md` from the real dashboard, in a real terminal, over a real daemon, and writes
 * its list of keys. It needs tmux:
 *
 *   npm run screens
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../root.ts";
import { withKeys } from "./keys.ts";
import { Stage } from "./stage.ts";
import { picture } from "./svg.ts";
import { Terminal, type Size } from "./terminal.ts";

interface Shot {
  readonly file: string;
  readonly title: string;
  readonly size: Size;
  /** The keys that are typed after the previous picture, one at a time. */
  readonly keys: readonly string[];
  /** The text that is visible once the screen is there. */
  readonly shows: string;
}

const WIDE = { columns: 120, rows: 34 };
const SMALL = { columns: 80, rows: 24 };

const SHOTS: readonly Shot[] = [
  { file: "events", title: "Events, and the one under the cursor", size: WIDE, keys: ["1", "f", "j"], shows: "EVENTS" },
  { file: "failures", title: "Failures by endpoint and cause", size: WIDE, keys: ["4"], shows: "FAILURES" },
  { file: "endpoints", title: "Endpoints", size: WIDE, keys: ["3"], shows: "ENDPOINTS" },
  { file: "event", title: "One event with every attempt", size: SMALL, keys: ["1", "Enter"], shows: "tries to" },
  // This comes last, because all of its figures have been read by then.
  { file: "overview", title: "Is it all right?", size: WIDE, keys: ["0"], shows: "WORST ENDPOINTS" },
];

const page = join(root, "docs/dashboard.md");
const pictures = join(root, "docs/dashboard");
mkdirSync(pictures, { recursive: true });
writeFileSync(page, withKeys(readFileSync(page, "utf8")));

const stage = new Stage();
let terminal: Terminal | undefined;
try {
  await stage.open();
  // The socket's name is relative to the folder, so that the dashboard shows a short one.
  const command = [join(root, "scripts/webhookd"), "tui", "--socket", "webhookd.sock"];
  terminal = new Terminal(WIDE, stage.dir, command, { WEBHOOKD_UI_LABEL: "PROD" });
  // The counts of pending deliveries are taken only every 30 s, so wait for them.
  await terminal.showing("held  ");
  for (const { file, title, size, keys, shows } of SHOTS) {
    terminal.resize(size);
    for (const key of keys) {
      terminal.type(key);
      await terminal.showing("");
    }
    const path = join(pictures, `${file}.svg`);
    writeFileSync(path, await picture(await terminal.showing(shows), size, `webhookd tui: ${title}`));
    console.log(path);
  }
} finally {
  terminal?.close();
  await stage.close();
}
