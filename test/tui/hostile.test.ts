import { expect, it, vi } from "vitest";
import { RunningDashboard } from "./dashboard.ts";
import { HOSTILE } from "./hostile.ts";
import { openSite } from "./site.ts";
import { inTerminal, type Tmux } from "./tmux.ts";

const SIZE = { columns: 200, rows: 60 };
/** HTTP cannot carry a lone surrogate. */
const SENT = HOSTILE.map((text) => text.toWellFormed());

/**
 * Waits for a screen on which nothing that is shown has moved, wrapped, coloured or hidden anything else. The terminal
 * may have read only half of a frame, so a fault counts only if it stays.
 */
async function isWhole(terminal: Tmux, shows: (screen: string) => boolean = () => true): Promise<string> {
  let screen = "";
  const look = async () => {
    screen = await terminal.screen();
    const lines = screen.split("\n");
    expect(lines, screen).toHaveLength(SIZE.rows);
    expect(lines[0]).toMatch(/^ webhookd ● live/);
    expect(lines[2]).toMatch(/^ 0 overview.* 1 events.* 2 deliveries.* 3 endpoints.* 4 failures.* 5 activity/i);
    expect(screen.match(/webhookd ● live/g)).toHaveLength(1);
    expect(shows(screen), screen).toBe(true);
    // Nothing is concealed, blinking or a link.
    expect(await terminal.painted()).not.toMatch(/\x1b\[[0-9;]*\b[58]m|\x1b\]/);
  };
  await vi.waitFor(look, { timeout: 120_000, interval: 20 });
  return screen;
}

/** True if the line between the list and the pane is straight and unbroken. */
function hasStraightBar(screen: string): boolean {
  const rows = screen.split("\n").slice(3, -2);
  return rows.every((line) => line.search(/[│┃]/u) === 110);
}

inTerminal("what comes from outside", () => {
  it("is shown in every pane, and never obeyed", async () => {
    const site = await openSite({ failing: SENT });
    const { terminal } = await RunningDashboard.open({ ...site, ...SIZE });
    const taken = await terminal.state();
    // The pane beside the list shows the payload and the receiver's response.
    let seen = "";
    for (let n = 1; n <= SENT.length; n++) {
      await terminal.until((now) => now.includes(` ${n} of `) && now.includes('"text":'));
      seen += await isWhole(terminal, (screen) => screen.includes('"text":') && hasStraightBar(screen));
      await terminal.press("j");
    }
    // Escape sequences hide no words, and are shown themselves.
    const told = ["<U+001B>[8mhidden", "<U+001B>]52;c;aGFja2Vk<U+0007>clipboard", "<U+202E>gnp.exe", "東京コーヒー"];
    for (const text of told) expect(seen).toContain(text);
    for (const [key, shows] of [
      // This waits for a row under the cursor, which Enter opens.
      ["2", /2 DELIVERIES[^]*▶/],
      ["Enter", "›"],
      ["3", /3 ENDPOINTS[^]*▶/],
      ["Enter", "›"],
      ["4", "4 FAILURES"],
      ["5", "5 ACTIVITY"],
      ["0", /0 OVERVIEW[^]*▶/],
      ["?", "Keys on this screen"],
    ] as const) {
      await terminal.press(key);
      await terminal.until(shows);
      await isWhole(terminal);
    }
    await terminal.press("Escape");
    await terminal.until((screen) => !screen.includes("Keys on this screen"));
    await terminal.press("/");
    await terminal.until(/^ \/$/m);
    for (const text of SENT.filter((one) => one.trim() !== "")) {
      await terminal.paste(text);
      await isWhole(terminal);
      await terminal.press("C-u");
    }
    expect(await terminal.state()).toEqual(taken);
    expect(await terminal.clipboard()).toEqual([]);
  });
});
