/** Every kind of failure has its own advice. `test/cli/advice.test.ts` runs the commands that the advice suggests. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { adviceOn, type Trouble } from "../../src/domain/advice/advice.ts";
import { t } from "../../src/portal/language/text.ts";
import { ATTEMPT_ERRORS, NO_PHASES, type AttemptError } from "../../src/domain/deliveries/attempt.ts";

const SUBJECT = { endpoint: "ep_06fbqxvx8r4m8q2v6ng0c3kz7t", attempt: "att_06fbqxw6w0a1b2c3d4e5f6g7h8" };
const HOUR = 3_600_000;

const on = (trouble: Partial<Trouble>) => adviceOn({ error: null, status: null, lastsMs: 0, ...trouble }, SUBJECT);
const SAMPLE = { url: "https://a.example/", detail: "", remoteAddress: null, phases: NO_PHASES };
const timeout = (phases: object, remoteAddress: string | null = null, url = SAMPLE.url) =>
  on({ error: "timeout", sample: { ...SAMPLE, url, remoteAddress, phases: { ...NO_PHASES, ...phases } } });
const tls = (code: string) =>
  on({ error: "tls_error", sample: { ...SAMPLE, detail: `the TLS connection failed (${code})` } });
const status = (code: number) => on({ error: "http_status", status: code });

const KINDS = {
  ...Object.fromEntries(
    ATTEMPT_ERRORS.filter((error) => !["http_status", "timeout", "tls_error"].includes(error)).map((error) => [
      error,
      on({ error }),
    ]),
  ),
  "1xx": status(199),
  "400": status(400),
  "401": status(401),
  "404": status(404),
  "408": status(408),
  "410": status(410),
  "413": status(413),
  "429": status(429),
  "4xx": status(418),
  "500": status(500),
  "503": status(503),
  "timeout of DNS": timeout({}),
  "timeout of the connection": timeout({ dnsMs: 3 }),
  "timeout of TLS": timeout({ dnsMs: 3, connectMs: 4 }, "203.0.113.7"),
  "timeout of the answer": timeout({ dnsMs: 3, connectMs: 4, tlsMs: 5 }, "203.0.113.7"),
  "an expired certificate": tls("CERT_HAS_EXPIRED"),
  "a certificate for another name": tls("ERR_TLS_CERT_ALTNAME_INVALID"),
  "a self-signed certificate": tls("DEPTH_ZERO_SELF_SIGNED_CERT"),
  "a chain that is not whole": tls("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
  "another TLS fault": tls("EPROTO"),
};

describe.each(["meaning", "receiver", "customer"] as const)("%s", (part) => {
  it("differs from kind to kind", () => {
    const texts = Object.values(KINDS).map((advice) => advice[part]);
    // All failures that no receiver can fix share one text for the receiver's people.
    const ours = texts.filter((text) => text === "Nothing: it is our fault.").slice(1);
    expect(new Set(texts).size).toBe(texts.length - ours.length);
  });

  it("is a sentence or two", () => {
    for (const advice of Object.values(KINDS)) expect(advice[part]).toMatch(/^[A-Z].{20,150}[.?]$/);
  });
});

describe.each(["problem", "fix"] as const)("the %s that the endpoint's owner reads", (part) => {
  const all = Object.entries(KINDS).map(([kind, { owner }]) => [kind, t(`advice.${owner}.${part}`)] as const);

  it.each(all)("is a sentence or two, for somebody who can edit the endpoint: %s", (_, text) => {
    expect(text).toMatch(/^[A-Z].{15,130}\.$/);
    expect(text).not.toMatch(/the receiver|tell us|give us|\[|paid for/i);
  });

  it("differs from kind to kind", () => {
    expect(new Set(all.map(([, text]) => text)).size).toBe(all.length);
  });
});

/** Statuses of the hostile receivers that share one advice, with the reason. */
const ALIKE: Readonly<Record<string, string>> = {
  "401 403": "either is how a failed verification, or a firewall, refuses",
  "404 405": "no handler takes a POST there, whether the path or the method is what is unknown",
  "400 422": "either is how a handler rejects the content",
  "409 418": "no more is known than that the receiver finds fault with the request",
  "502 503 504": "a proxy says each of them of an application that does not answer",
  "600 999": "neither is a status of HTTP, so no more is known than that it is none",
  "301 302 304 308": "none is followed, whatever it says",
};

it("is there for every way in which a hostile receiver fails, of its own but where two mean the same", () => {
  const file = new URL("../corpora/hostile-receivers.json", import.meta.url);
  const corpus = JSON.parse(readFileSync(file, "utf8")) as { expect: Partial<Record<"error" | "status", unknown>> }[];
  const failures = corpus.flatMap(({ expect: { error, status } }) =>
    typeof error === "string" ? error.split("|").map((one) => ({ error: one as AttemptError, status })) : [],
  );
  expect(failures.length).toBeGreaterThan(40);
  const ways = Map.groupBy(failures, ({ error, status }) =>
    JSON.stringify(on({ error, status: (status ?? null) as number | null })),
  );
  const known = new Set(Object.values(KINDS).map((advice) => JSON.stringify(advice)));
  expect([...ways.keys()].filter((advice) => !known.has(advice))).toEqual([]);
  const shared = [...ways.values()].map((alike) => [
    ...new Set(alike.map(({ error, status }) => (status ?? error) as number | string)),
  ]);
  const several = shared.filter((alike) => alike.length > 1).map((alike) => alike.toSorted().join(" "));
  expect(several.toSorted()).toEqual(Object.keys(ALIKE).toSorted());
});

it("names something to type for each", () => {
  for (const { commands } of Object.values(KINDS)) expect(commands.length).toBeGreaterThan(0);
});

it("knows what a timed-out attempt on a kept or unencrypted connection waited for", () => {
  expect(timeout({}, "203.0.113.7")).toEqual(KINDS["timeout of the answer"]);
  expect(timeout({ connectMs: 1 }, "127.0.0.1", "http://a.example/")).toEqual(KINDS["timeout of the answer"]);
  expect(on({ error: "timeout" })).toEqual(KINDS["timeout of the answer"]);
});

it("distinguishes passing trouble from lasting trouble by its duration", () => {
  const after = (code: number, lastsMs: number) => on({ status: code, error: "http_status", lastsMs });
  expect(after(503, HOUR - 1).outlook).toContain("It may pass");
  expect(after(503, HOUR).outlook).toContain("for hours");
  expect(after(503, 24 * HOUR).outlook).toContain("more than a day");
  expect(after(404, 0).outlook).toBe("Waiting does not help.");
});

it("promises no retries of what has failed for good", () => {
  const over = (trouble: Partial<Trouble>) => on({ ...trouble, isOver: true });
  for (const { outlook, customer } of [over({ error: "connection_refused" }), over({ error: "interrupted" })]) {
    expect(outlook).toContain("replay once it has passed");
    expect(customer).toMatch(/ Once it works, we can send it again\.$/);
  }
  expect(over({ error: "http_status", status: 404 }).outlook).toBe("Waiting does not help.");
});

it("offers to hold the events of an endpoint that has failed for a day, and to end those of one that is gone", () => {
  const lines = (code: number, lastsMs: number) =>
    on({ status: code, error: "http_status", lastsMs }).commands.map(({ line }) => line);
  const hold = `webhookd endpoints disable ${SUBJECT.endpoint} --hold`;
  expect(lines(503, 24 * HOUR - 1)).not.toContain(hold);
  expect(lines(503, 24 * HOUR)).toContain(hold);
  expect(lines(410, 24 * HOUR)).not.toContain(hold);
  expect(lines(410, 0)[0]).toBe(`webhookd endpoints disable ${SUBJECT.endpoint} --skip`);
});
