import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, describe, expect } from "vitest";
import { connect } from "../../src/client/publisher.ts";
import { buildGo, hasPython, PYTHON_CLIENT } from "../client/languages.ts";
import { it, type Machine } from "../harness/process.ts";
import { Wire } from "./wire.ts";

const PUBLISHERS = 50;
const KILLS = 2;
/** The time before a kill in which the daemon works but its responses are lost. */
const UNHEARD_MS = 50;

/** Publishers that run until they are stopped. `ids` has every event that was accepted. */
interface Publishers {
  readonly ids: string[];
  stop(): Promise<void>;
}

type Start = (machine: Machine, url: string, key: string) => Publishers;

const inTypeScript: Start = (_machine, url, key) => {
  const client = connect({ url, key, giveUpAfterMs: 60_000 });
  const ids: string[] = [];
  const end = new AbortController();
  const publish = async (name: number) => {
    for (let number = 0; !end.signal.aborted; number++) {
      const by = `typescript-${name}`;
      const event = { type: "goal.achieved", data: { by, number }, ordering_key: by };
      // Every third event is published alone, and the others in pairs.
      const pair = { ...event, data: { ...event.data, pair: true } };
      const published = number % 3 === 0 ? [await client.publish(event)] : await client.publishBatch([event, pair]);
      ids.push(...published.map(({ id }) => id));
    }
  };
  const all = Promise.all(Array.from({ length: PUBLISHERS }, (_, name) => publish(name)));
  return {
    ids,
    async stop() {
      end.abort();
      await all;
    },
  };
};

const inPython: Start = (machine, url, key) => {
  const program = join(import.meta.dirname, "publishers.py");
  const python = machine.spawn("python3", ["-B", program, PYTHON_CLIENT, url, key]);
  return {
    ids: python.lines,
    async stop() {
      python.child.stdin!.end();
      expect([await python.exit, python.stderr]).toEqual([0, ""]);
    },
  };
};

const folder = mkdtempSync(join(tmpdir(), "webhookd-go-"));
afterAll(() => rmSync(folder, { recursive: true }));
const driver = buildGo(folder);

const inGo: Start = (machine, url, key) => {
  const go = machine.spawn(driver!, ["publishers", url, key]);
  return {
    ids: go.lines,
    async stop() {
      go.child.stdin!.end();
      expect([await go.exit, go.stderr]).toEqual([0, ""]);
    },
  };
};

const LANGUAGES: [string, Start, boolean][] = [
  ["TypeScript", inTypeScript, true],
  ["Python", inPython, hasPython()],
  ["Go", inGo, driver !== null],
];

describe("50 publishers", () => {
  it.for(LANGUAGES.filter(([, , isHere]) => isHere))(
    "in %s lose nothing, double nothing and keep their order while the daemon is killed",
    async ([, start], { machine }) => {
      const wire = await Wire.start();
      let daemon = await machine.serve();
      wire.leadTo(daemon.url);
      const publishers = start(machine, wire.url, daemon.key);
      const more = () => {
        const before = publishers.ids.length;
        return expect.poll(() => publishers.ids.length).toBeGreaterThan(before + PUBLISHERS);
      };
      for (let kills = 0; kills < KILLS; kills++) {
        await more();
        wire.dropAnswers();
        await wait(UNHEARD_MS);
        await daemon.kill9();
        wire.cut();
        daemon = await machine.serve();
        wire.leadTo(daemon.url);
      }
      await more();
      await publishers.stop();
      wire.close();

      const stored = new Map<string, string>();
      const last = new Map<string, number>();
      const client = connect({ url: daemon.url, key: daemon.key });
      for await (const event of client.every("listEvents", { query: { include: "data", order: "oldest" } })) {
        const { data } = event as unknown as { data: { by: string; number: number } };
        stored.set(event.id, JSON.stringify(data));
        expect(event.ordering_key).toBe(data.by);
        expect(data.number).toBeGreaterThanOrEqual(last.get(data.by) ?? 0);
        last.set(data.by, data.number);
      }
      expect(new Set(publishers.ids)).toEqual(new Set(stored.keys()));
      expect(new Set(stored.values()).size).toBe(stored.size);
      expect(publishers.ids).toHaveLength(stored.size);
    },
  );
});
