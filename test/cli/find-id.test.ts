/** A shortened id, as tables show it, stands for the id that begins with it. */
import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { anAttempt } from "../../src/api/deliveries/attempts.ts";
import { aWholeDelivery } from "../../src/api/deliveries/deliveries.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { anEvent, anEventSummary } from "../../src/api/events/schemas.ts";
import { aJob } from "../../src/api/jobs/schemas.ts";
import { receivedWithin } from "../../src/domain/id.ts";
import { typed } from "./typed.ts";
import { eventId, instantOf } from "../../src/store/rows/codes.ts";
import { RisingKeys } from "../../src/store/rows/key-times.ts";

const page = (...data: object[]) => ({ data, next_cursor: null });
const NONE = page();
const SIMILAR = anEvent.id.slice(0, 18) + "0".repeat(12);

describe("the beginning of an id is taken", () => {
  it.each([
    ["events show", anEvent.id, ["listEvents", "listEvents", "getEvent"]],
    ["events show", `${anEvent.id.slice(0, 15)}…`, ["listEvents", "listEvents", "getEvent"]],
    ["events show", anEvent.id.slice(0, 10), ["listEvents", "listEvents", "getEvent"]],
    ["events cancel --yes", anEvent.id.slice(0, 15), ["listEvents", "listEvents", "getEvent", "cancelEvent"]],
    ["replay --no-wait", anEvent.id.slice(0, 15), ["listEvents", "listEvents", "getEvent", "replayEvent"]],
    ["deliveries show", aWholeDelivery.id.slice(0, 21), ["listDeliveries", "listDeliveries", "getDelivery"]],
    ["deliveries list --event", anEvent.id.slice(0, 15), ["listEvents", "listEvents", "listDeliveries"]],
    ["attempts show", anAttempt.id.slice(0, 23), ["listEvents", "listEventAttempts", "listEvents", "getAttempt"]],
    ["attempts list", anEndpoint.id.slice(0, 11), ["listEndpoints", "listEndpointAttempts"]],
    ["endpoints show", anEndpoint.id.slice(0, 11), ["listEndpoints", "getEndpoint"]],
    ["jobs show", aJob.id.slice(0, 12), ["listJobs", "getJob"]],
  ])("by %s %s", async (command, id, asks) => {
    const only = { listEvents: [page(anEventSummary), NONE], listDeliveries: [page(aWholeDelivery), NONE] };
    const { code, daemon } = await typed([...command.split(" "), id], { answers: only });
    const whole = id.length === anEvent.id.length;
    expect(code).toBe(EXIT.ok);
    expect(daemon.asked().slice(0, asks.length)).toEqual(whole ? ["getEvent", "listEventAttempts"] : asks);
  });

  it("within --filter, too", async () => {
    const answers = { listEvents: [page(anEventSummary), NONE] };
    const words = ["deliveries", "list", "--filter", `status:failed event:${anEvent.id.slice(0, 15)}`];
    const { daemon } = await typed(words, { answers });
    expect(daemon.seen.at(-1)!.path).toContain(`event=${anEvent.id}`);
  });
});

describe("nothing is done", () => {
  it("where several begin so, which are named", async () => {
    const answers = { listEvents: [page(anEventSummary, { ...anEventSummary, id: SIMILAR }), NONE] };
    const { code, err, daemon } = await typed(["events", "erase", anEvent.id.slice(0, 10), "--yes"], { answers });
    expect([code, daemon.asked()]).toEqual([EXIT.usage, ["listEvents", "listEvents"]]);
    expect(err).toContain(`more than one id begins with ${anEvent.id.slice(0, 10)}: give more of it`);
    expect(err).toContain(`${anEvent.id} ${anEvent.type}, ${SIMILAR} ${anEvent.type}.`);
  });

  it("where none begins so, even if the daemon named others", async () => {
    const answers = { listEvents: [page({ ...anEventSummary, id: `evt_${"z".repeat(26)}` }), NONE] };
    const { code, err } = await typed(["events", "show", anEvent.id.slice(0, 15)], { answers });
    expect([code, err]).toEqual([EXIT.not_found, expect.stringContaining("no id begins with evt_06fbqxw6v8s")]);
  });

  it("for what is too short to look for", async () => {
    const { code, daemon } = await typed(["events", "show", "evt_06fbq"]);
    expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
  });
});

it("an event's id says when it was received, however little of it is given", () => {
  for (const now of [1_700_000_000_000, 1_795_366_106_745]) {
    const key = new RisingKeys(0).next(now);
    const id = eventId(key, "0".repeat(15)).slice("evt_".length);
    for (const chars of [6, 8, 9, 10, 11, 20]) {
      const { since, until } = receivedWithin(id.slice(0, chars));
      expect([Date.parse(since) <= instantOf(key), instantOf(key) < Date.parse(until)]).toEqual([true, true]);
    }
    expect(receivedWithin(id)).toEqual({
      since: new Date(now).toISOString(),
      until: new Date(now + 1).toISOString(),
    });
  }
});
