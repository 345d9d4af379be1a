import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { renderToString, Text } from "ink";
import { frameOf } from "../../tui/frame.ts";
import { openDashboard } from "../../tui/main.tsx";
import { TABS } from "../../tui/model/list.ts";
import type { Size } from "../../tui/model/state.ts";
import { aDirectory } from "../harness/daemon.ts";
import { FakeClient } from "./client.ts";
import { Dashboard, idOf, SETTINGS } from "./daemon.ts";
import { FakeTerminal } from "./terminal.ts";
import { KEY } from "../../tui/keys/names.ts";

interface Opened {
  readonly terminal: FakeTerminal;
  readonly client: FakeClient;
  readonly end: Promise<number>;
}

const open: Opened[] = [];

function dashboard({
  columns = 80,
  rows = 24,
  events = 250,
  text = "plain",
}: Partial<Size> & { events?: number; text?: string } = {}): Opened {
  const terminal = new FakeTerminal({ columns, rows });
  const client = new FakeClient({ events, text });
  const { stdin, stdout } = terminal;
  const end = openDashboard({ client, settings: SETTINGS, tab: "events", filter: "", stdin, stdout });
  const opened = { terminal, client, end };
  open.push(opened);
  return opened;
}

afterEach(async () => {
  for (const { terminal, end } of open.splice(0)) {
    terminal.type("\x03");
    await end;
  }
});

const until = (terminal: FakeTerminal, text: string) => expect.poll(() => terminal.text()).toContain(text);

it("takes the terminal, and gives it back as it was", async () => {
  const { terminal, end } = dashboard();
  await until(terminal, "evt_…00000250");
  expect(await terminal.state()).toEqual({ alternate: true, wraps: false, raw: true, cursor: false });
  terminal.type("q");
  expect(await end).toBe(0);
  expect(await terminal.state()).toEqual({ alternate: false, wraps: true, raw: false, cursor: true });
});

it("ends with 130 by ^C, whatever is open", async () => {
  const { terminal, end } = dashboard();
  await until(terminal, "evt_…00000250");
  terminal.type(KEY.replay);
  await until(terminal, "Replay event");
  terminal.type("\x03");
  expect(await end).toBe(130);
  expect(await terminal.state()).toMatchObject({ alternate: false, wraps: true, raw: false });
});

it("hears keys, arrows and what is pasted", async () => {
  const { terminal, client } = dashboard();
  await until(terminal, "evt_…00000250");
  terminal.type("jj");
  terminal.type("\x1b[B");
  await until(terminal, "4 of");
  terminal.type(`\x1b[200~${KEY.replay}q\x1b[201~`);
  await until(terminal, "text can only be pasted into a line");
  terminal.type("/status:failed\r");
  await until(terminal, "/ status:failed");
  expect(client.daemon.asked.findLast(({ operation }) => operation === "listEvents")!.ask.query).toMatchObject({
    status: "failed",
  });
});

it("replays an event from the keyboard, and says how it went", async () => {
  const { terminal, client } = dashboard();
  await until(terminal, "evt_…00000250");
  terminal.type(KEY.replay);
  await until(terminal, idOf("evt", 250));
  terminal.type("y");
  await until(terminal, "queued");
  const at = new Date().toISOString();
  const about = { at, tenant: "default", endpoint: idOf("ep", 1), event: idOf("evt", 250), delivery: idOf("dlv", 1) };
  const result = {
    number: 8,
    outcome: "succeeded",
    status_code: 200,
    error: null,
    duration_ms: 143,
    next_attempt_at: null,
  } as const;
  client.tell({ kind: "attempt", data: { ...about, status: "delivered", ...result } });
  await until(terminal, "delivered, 200 in 143 ms");
  expect(client.daemon.asked.filter(({ operation }) => operation === "replayEvent")).toHaveLength(1);
});

it("writes a report that only its owner may read", async () => {
  const folder = aDirectory();
  const cwd = vi.spyOn(process, "cwd").mockReturnValue(folder);
  const { terminal } = dashboard();
  await until(terminal, "evt_…00000250");
  terminal.type("4");
  await until(terminal, "4 FAILURES");
  await until(terminal, "503 from");
  terminal.type("w");
  await until(terminal, "written to");
  cwd.mockRestore();
  const [name = ""] = readdirSync(folder);
  expect(name).toMatch(/^webhookd-report-.*\.md$/);
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(readFileSync(join(folder, name), "utf8")).toContain("# Webhooks that are not delivered");
});

it("says that the daemon is gone, keeps the rows, and comes back by itself", async () => {
  const { terminal, client } = dashboard();
  await until(terminal, "evt_…00000250");
  client.goAway();
  await until(terminal, "RECONNECTING");
  expect(await terminal.text()).toContain("evt_…00000250");
  client.isUp = true;
  await until(terminal, "● live");
  expect(client.connectedWith.length).toBeGreaterThan(1);
});

it("draws itself anew in any size", async () => {
  const { terminal } = dashboard();
  await until(terminal, "evt_…00000250");
  for (const size of [
    { columns: 120, rows: 40 },
    { columns: 50, rows: 10 },
    { columns: 200, rows: 60 },
    { columns: 60, rows: 12 },
  ]) {
    terminal.resize(size);
    await until(terminal, size.columns < 60 ? "needs 60x12" : "1 EVENTS");
    await expect.poll(async () => (await terminal.lines()).at(-1)).toMatch(size.columns < 60 ? /^$/ : /Enter open/);
  }
});

it("keeps every row in its place with text that terminals measure differently", async () => {
  const { terminal } = dashboard({ text: "हिन्दी 👍🏽 👨‍👩‍👧 ✈️ 東京\x1b[2J\x1b[H" });
  await until(terminal, "evt_…00000250");
  terminal.type("j");
  await until(terminal, "2 of");
  const lines = await terminal.lines();
  expect(lines[0]).toContain("webhookd");
  expect(lines.at(-1)).toContain("Enter open");
  expect(lines.filter((line) => line.includes("evt_…"))).toHaveLength(18);
});

it.each(TABS)("paints most rows of %s as Ink writes them: others it takes apart twice", (tab) => {
  const dashboard = new Dashboard({ tab, size: { columns: 200, rows: 60 } }).connected().press("j").pass(10);
  const lines = frameOf(dashboard.state).map((line) => line.trimEnd());
  const others = lines.filter((line) => renderToString(<Text>{line}</Text>, { columns: 200 }) !== line);
  expect(others.length).toBeLessThanOrEqual(lines.length / 3);
  // Ink leaves out the end of a style where another style begins.
  expect(others.filter((line) => !/m\x1b\[|^ +\d+ of/.test(line))).toEqual([]);
});
