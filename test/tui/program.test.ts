import { expect, it } from "vitest";
import { Program, type Surroundings } from "../../tui/program.ts";
import { initialState } from "../../tui/state/reduce.ts";
import type { StreamMessage } from "../../src/client/stream.ts";
import { FakeClient } from "./client.ts";
import { idOf, NOW, SETTINGS } from "./daemon.ts";

/** A clock that the test moves. */
class Time implements Surroundings {
  #now = NOW;
  #timers: { readonly at: number; readonly run: () => void }[] = [];
  now = () => this.#now;
  after(ms: number, run: () => void) {
    const timer = { at: this.#now + ms, run };
    this.#timers.push(timer);
    return () => void (this.#timers = this.#timers.filter((one) => one !== timer));
  }
  mouse() {}
  suspend() {}
  redraw() {}
  copy() {}
  save = (name: string) => name;
  quit() {}

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const next = this.#timers.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== next);
      this.#now = Math.max(this.#now, next.at);
      next.run();
    }
    this.#now = end;
    await settled();
  }
}

/** Waits until no promise has anything left to do. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

interface Running {
  readonly program: Program;
  readonly time: Time;
  readonly client: FakeClient;
  /** Returns the number of frames since the last call. */
  drawn(): number;
}

async function running({ columns = 80, rows = 24, events = 5 } = {}): Promise<Running> {
  const [time, client] = [new Time(), new FakeClient({ events, jobs: [] })];
  const program = new Program(
    initialState({ now: NOW, size: { columns, rows }, settings: SETTINGS, tab: "events" }),
    client,
    time,
  );
  let count = 0;
  program.subscribe(() => void count++);
  program.start();
  await time.pass(2000);
  const drawn = () => {
    const since = count;
    count = 0;
    return since;
  };
  drawn();
  return { program, time, client, drawn };
}

function published(n: number): StreamMessage {
  const data = { at: new Date(NOW).toISOString(), tenant: "default", endpoint: idOf("ep", 1), event: idOf("evt", n) };
  return { kind: "delivery", data: { ...data, delivery: idOf("dlv", n), status: "pending" } };
}

it.each([0, 70])("draws as often as it is told to, however much happens, with answers %i ms away", async (ms) => {
  const { time, client, drawn } = await running({ columns: 120, rows: 40, events: 250 });
  let answers = 0;
  client.wait = () => new Promise((resolve) => void time.after(ms * (1 + (answers++ % 5) / 5), resolve));
  const call = client.call;
  client.call = (async (operation, ask) => {
    const answer = await call(operation, ask);
    if (operation !== "listEvents") return answer;
    const { data } = answer as { data: object[] };
    return { ...(answer as object), data: data.map((row) => ({ ...row, type: `type.${answers}` })) };
  }) as typeof call;
  for (let n = 0; n < 1000; n++) {
    client.tell(published(300 + n));
    await time.pass(10);
  }
  // Ten seconds have four frames each. Every frame differs by the age of its rows or the rate.
  expect(drawn()).toBeLessThanOrEqual(41);
});

it("draws and asks nothing new when nothing happens", async () => {
  const { time, client, drawn } = await running();
  // By then ages are shown in hours, and change rarely.
  await time.pass(3_660_000);
  drawn();
  const before = client.daemon.asked.length;
  await time.pass(30_000);
  expect(drawn()).toBe(0);
  const asked = client.daemon.asked.slice(before).map(({ operation }) => operation);
  expect(new Set(asked)).toEqual(new Set(["getStatus"]));
  expect(asked.length).toBeLessThanOrEqual(6);
});

it("draws what a person does at once, and what comes of it soon", async () => {
  const { program, time, client, drawn } = await running({ events: 250 });
  client.tell(published(300));
  await time.pass(40);
  drawn();
  program.keys(["j"]);
  expect(drawn()).toBe(1);
  program.keys(["enter"]);
  expect(program.lines().join("\n")).not.toContain("payload");
  await time.pass(30);
  expect(program.lines().join("\n")).toContain("payload");
});

it("comes back with the last id it was given, and closes the stream it leaves", async () => {
  const { program, time, client } = await running();
  client.tell({ kind: "id", id: "life-3" });
  await time.pass(300);
  client.goAway();
  await time.pass(300);
  expect(program.state.link.kind).toBe("lost");
  client.isUp = true;
  await time.pass(1000);
  expect(program.state.link.kind).toBe("live");
  expect(client.connectedWith.at(-1)).toBe("life-3");
  program.stop();
  await time.pass(60_000);
  expect(client.listening).toBe(0);
});
