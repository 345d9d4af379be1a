import { join } from "node:path";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { apply } from "../../cli/import/apply.ts";
import { convoyIn } from "../../cli/import/convoy.ts";
import { planOf } from "../../cli/import/plan.ts";
import { type Client, ClientError, createClient } from "../../src/client/client.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { TestDaemon } from "../harness/daemon.ts";

const [PLAIN, OLD, NEW] = ["wK3mQ9vT2xR7bN5cLp8", "Zx4nB6vM1qW9eR3tYu7", "Pq8sD2fG6hJ4kL1zXc5"];
const WISHES = { from: "convoy", enable: true, overwrite: false };

/** An endpoint with one secret, and one whose secret is being rotated there. */
function project(tenant: string, now: number) {
  const ends = new Date(now + 3_600_000).toISOString();
  const endpoint = (uid: string, secrets: object[]) => {
    const url = `https://${uid}.example.com/`;
    return { uid, owner_id: tenant, url, status: "active", advanced_signatures: true, secrets };
  };
  const rotating = [
    { value: OLD, expires_at: ends },
    { value: NEW, expires_at: null },
  ];
  const endpoints = [endpoint("plain", [{ value: PLAIN, expires_at: null }]), endpoint("rotating", rotating)];
  const subscriptions = endpoints.map(({ uid }) => ({ endpoint_metadata: { uid }, filter_config: {} }));
  return convoyIn({ endpoints, subscriptions }, "a.json", now);
}

/** Breaks off at the call of that number, before or after it was done. Answers the calls before it. */
function cutOff(client: Client, at: number, isDone: boolean) {
  let calls = 0;
  const call: Client["call"] = async (operation, ask) => {
    if (++calls < at) return client.call(operation, ask);
    if (calls === at && isDone) await client.call(operation, ask);
    throw new ClientError("unreachable", "cut", "the connection was cut", undefined, { retryable: false });
  };
  return { ...client, call };
}

it.each([true, false])(
  "an import that was cut off at any call is finished by the next one, if the call was done: %s",
  async (isDone) => {
    const daemon = await TestDaemon.start({});
    const key = readFileSync(join(daemon.dir, "admin.key"), "utf8").trim();
    const client = createClient({ url: new URL(daemon.url), key }, { version: "test" });
    const io = new FakeIo();
    let isWhole = false;
    for (let at = 1; !isWhole; at++) {
      const tenant = `t${at}`;
      const described = project(tenant, io.now());
      const plan = () => planOf(described, WISHES, client);
      isWhole = await apply(await plan(), WISHES, cutOff(client, at, isDone), io).then(
        () => true,
        (error: Error) => {
          expect(error.message).toMatch(/^\d of 2 endpoints are imported: the connection was cut$/);
          return false;
        },
      );
      await apply(await plan(), WISHES, client, io);
      expect((await plan()).endpoints.map(({ result }) => result)).toEqual(["unchanged", "unchanged"]);
      const { data } = await client.call("listEndpoints", { query: { tenant } });
      expect(data.map(({ uid, enabled }) => [uid, enabled]).toSorted()).toEqual([
        ["convoy:plain", true],
        ["convoy:rotating", true],
      ]);
      const secretsOf = (uid: string) => client.call("getSecret", { id: `uid:${uid}`, query: { tenant } });
      expect(await secretsOf("convoy:plain")).toEqual({ signing_secret: PLAIN });
      expect(await secretsOf("convoy:rotating")).toMatchObject({ signing_secret: OLD, next_signing_secret: NEW });
    }
  },
);
