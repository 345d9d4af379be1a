/** Dispatchers of several nodes on one PostgreSQL, whose processes die and are taken over from. */
import { afterAll, describe, expect, it } from "vitest";
import type { Dispatcher } from "../../src/delivery/dispatcher.ts";
import type { Outcome } from "../../src/domain/deliveries/attempt.ts";
import type { Store } from "../../src/store/store.ts";
import { ManualClock } from "../harness/clock.ts";
import { startServer, withClient } from "../harness/postgres.ts";
import { addEndpoint, answered, draft, room } from "../store/fixtures.ts";
import { createDatabase, openPostgresDatabase, temporaryDirectory } from "../store/stores.ts";
import { dispatcherOn } from "./house.ts";

const server = await startServer();
if (server === null) console.warn("SKIPPED: there is no PostgreSQL for this platform to run nodes on");
afterAll(() => server?.stop());

const [DEADLY, SOUND] = ["https://deadly.example/hook", "https://sound.example/hook"];
const ENOUGH = 12;
const LOSE = `UPDATE node SET lease_until = now()
  WHERE id IN (SELECT owner FROM slot s JOIN endpoint e ON e.slot = s.slot WHERE e.url = $1)`;

describe.skipIf(server === null)("nodes of which one dies of a delivery", () => {
  it("do not go on dying of it, and send all else", async () => {
    const url = server!.urlOf(await createDatabase(server!));
    const [dir, clock] = [temporaryDirectory(), new ManualClock()];
    let living: { readonly store: Store; readonly dispatcher: Dispatcher; readonly life: { isOver: boolean } }[] = [];
    const start = async () => {
      const store = await openPostgresDatabase(url, { dir, clock, leaseMs: 60_000 });
      const life = { isOver: false };
      const post = async (to: string): Promise<Outcome> => {
        if (to === DEADLY) life.isOver = true;
        // Nothing ends on a node that is dead.
        return life.isOver ? new Promise<never>(() => {}) : answered(200);
      };
      const dispatcher = dispatcherOn({ store, clock, post });
      await dispatcher.start();
      living.push({ store, dispatcher, life });
    };
    for (let at = 0; at < 3; at++) await start();
    const renewAll = () => Promise.all(living.map(({ dispatcher }) => dispatcher.lease.renew()));
    for (let at = 0; at < 3; at++) await renewAll();
    await addEndpoint(living[0]!.store, { url: DEADLY });
    const sound = await addEndpoint(living[0]!.store, { url: SOUND });
    const { store } = living[0]!;
    const [published] = await store.events.publish([draft()], clock.now(), room);
    living[0]!.dispatcher.accept(published!);

    const deliveries = async () => (await living[0]!.store.reads.getEvent(null, published!.id))!.deliveries;
    let deaths = 0;
    for (;;) {
      const dead = living.find(({ life }) => life.isOver);
      living = living.filter((node) => node !== dead);
      if (dead !== undefined) {
        expect(++deaths).toBeLessThan(ENOUGH);
        await withClient(url, (client) => client.query(LOSE, [DEADLY]));
        await start();
      } else if ((await deliveries()).every(({ attempts }) => attempts > 0)) break;
      await renewAll();
    }
    // Once of nothing that was known, and three times of what it was tried with.
    expect(deaths).toBe(4);
    const ends = (await deliveries()).map((one) => [one.endpoint === sound, one.status, one.attempts]);
    expect(ends.toSorted()).toEqual([
      [false, "pending", 1],
      [true, "delivered", 1],
    ]);
    await Promise.all(living.map(({ dispatcher }) => dispatcher.stop()));
  });
});
