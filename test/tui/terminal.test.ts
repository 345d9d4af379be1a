import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { aDirectory } from "../harness/daemon.ts";
import { MAIN } from "../harness/process.ts";
import { RunningDashboard } from "./dashboard.ts";
import { openSite, still } from "./site.ts";
import { inTerminal, Tmux } from "./tmux.ts";

const TAKEN = { alternate: true, cursor: false, wraps: false, mouse: "mouse_standard_flag mouse_sgr_flag" };
const GIVEN_BACK = { alternate: false, cursor: true, wraps: true, mouse: "" };
const site = () => openSite({ delivered: 60 });

/** Starts a server with a valid stream, which answers every other call with the wrong JSON. */
async function nonsense() {
  const server = createServer(({ url = "" }, response) => {
    if (!url.endsWith("/stream")) return void response.setHeader("content-type", "application/json").end("[1]");
    response.writeHead(200, { "content-type": "text/event-stream" }).write("event: ready\ndata: {}\n\n");
  });
  const socket = join(aDirectory(), "webhookd.sock");
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  return { socket, shows: /bug in webhookd[^]*\$\s*$/ };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

inTerminal("a terminal", () => {
  it("is taken, and given back as it was", async () => {
    const dashboard = await RunningDashboard.open(await site());
    expect(await dashboard.terminal.state()).toMatchObject(TAKEN);
    await dashboard.terminal.press("q");
    const left = await dashboard.isOver(0);
    expect(left.trimEnd().split("\n")).toEqual(["what was there before", "$"]);
  });

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)("is given back at %s, with exit code %i", async (signal, exit) => {
    const dashboard = await RunningDashboard.open(await site());
    process.kill(await dashboard.terminal.foreground(), signal);
    await dashboard.isOver(exit);
  });

  it.each([
    ["hangs up", "exec"],
    // In a session of its own the dashboard gets no signal, and only its reads and writes fail.
    ["fails without a word", "exec setsid -w"],
  ])("takes the dashboard with it when it %s", async (_, way) => {
    const file = join(aDirectory(), "pid");
    const script = `echo $$ > ${file}; exec node ${MAIN} "$@"`;
    const program = `(${way} sh -c '${script}' sh`;
    const { terminal } = await RunningDashboard.open({ ...(await site()), program, flags: ")" });
    const pid = Number(readFileSync(file, "utf8"));
    onTestFinished(() => void (isAlive(pid) && process.kill(pid, "SIGKILL")));
    expect(isAlive(pid)).toBe(true);
    await terminal.close();
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it("is given back by a crash, which is printed where it can be read", async () => {
    const dashboard = await RunningDashboard.open(await nonsense());
    expect(await dashboard.isOver(70)).toContain("this is a bug in webhookd: ");
  });

  it("belongs to the shell while the dashboard is suspended, and to the dashboard again after fg", async () => {
    const dashboard = await RunningDashboard.open(await site());
    const { terminal } = dashboard;
    for (let time = 0; time < 2; time++) {
      const taken = await terminal.state();
      await terminal.press("j", "C-z");
      await terminal.until(/Stopped[^]*\$\s*$/);
      expect(await terminal.state()).toMatchObject(GIVEN_BACK);
      await terminal.command("clear; echo still $((40 + 2)); fg");
      await terminal.until(`${time + 2} of`);
      expect(await terminal.state()).toEqual(taken);
    }
    await terminal.press("C-z");
    await terminal.until(/Stopped[^]*\$\s*$/);
    // The shell itself prints the text. Text typed before would be read by the dashboard that comes back.
    await terminal.command("clear; kill %1; fg; code=$?; echo over; (exit $code)");
    await terminal.until(/^over$/m);
    await dashboard.isOver(143);
  });

  it("shows no torn line after a storm of sizes", async () => {
    const { terminal } = await RunningDashboard.open(await site());
    await terminal.press("j", "j");
    for (const last of [
      { columns: 80, rows: 24 },
      { columns: 60, rows: 12 },
      { columns: 121, rows: 41 },
      { columns: 200, rows: 60 },
    ]) {
      for (let n = 0; n < 8; n++) await terminal.resize({ columns: 40 + ((n * 53) % 161), rows: 5 + ((n * 23) % 56) });
      await terminal.resize({ columns: 50, rows: 10 });
      await terminal.until("needs 60x12");
      await terminal.resize(last);
      await terminal.until(/3 of \d+[^]*Enter open[^\n]*$/);
      // The pane beside the list shows the selected event, which is read later.
      if (last.columns >= 120) await terminal.until(/"n": \d/);
      const settled = await terminal.settled(still);
      const lines = settled.split("\n");
      expect(lines).toHaveLength(last.rows);
      expect(lines[0]).toMatch(/^ webhookd ● live/);
      expect(lines.filter((line) => line.includes("EVENTS"))).toHaveLength(1);
      // A complete redraw gives the same screen.
      await terminal.scribble("Broadcast message");
      await terminal.press("C-l");
      await terminal.until((screen) => still(screen) === still(settled));
    }
  });

  it("takes no key that was typed before anything was drawn, and shows none", async () => {
    const { socket } = await site();
    for (let time = 0; time < 4; time++) {
      const terminal = await Tmux.start();
      await terminal.command(`clear; node ${MAIN} tui --screen events --socket ${socket}`);
      // These keys would do something, but there is no dashboard yet. While it opens, a key without an effect is sent.
      await terminal.type("4jjj/x");
      while (!(await terminal.state()).alternate) await terminal.press("~");
      // Each part is drawn with a response of its own.
      await terminal.until(/● live[^]* ✓ 60 [^]*1 of \d/);
      const first = await terminal.settled(still);
      expect(first.split("\n")[0]).toMatch(/^ webhookd ● live/);
      expect(first.split("\n")[2]).toMatch(/ 1 EVENTS .* FOLLOW$/);
      // The scribble shows when the screen was redrawn. A key sent together with C-l would be lost.
      await terminal.scribble("Broadcast message");
      await terminal.press("C-l");
      await terminal.until((screen) => still(screen) === still(first));
      await terminal.press("q");
      await terminal.until(/\$\s*$/);
      await terminal.close();
    }
  });

  it("takes what is pasted as text, however many lines it has", async () => {
    const { terminal } = await RunningDashboard.open(await site());
    const lines = Array.from({ length: 2000 }, (_, n) => `q${n} r y`).join("\n");
    await terminal.paste(lines);
    await terminal.until("text can only be pasted into a line");
    await terminal.press("/");
    await terminal.paste(`${lines}\n`);
    await terminal.until(/ \/ .*q1999 r y/);
    await terminal.press("C-u");
    await terminal.paste("status:delivered\n");
    await terminal.until(/ \/ status:delivered/);
    await terminal.press("Enter");
    await terminal.until(/1 of \d.* \/ status:delivered/);
  });
});
