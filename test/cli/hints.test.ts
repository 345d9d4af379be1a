/** A command that an error suggests can be pasted, because it names the object that was requested. */
import { expect, it } from "vitest";
import { typed } from "./typed.ts";

const EP = "ep_06fbqxvx8r4m8q2v6ng0c3kz7t";
const JOB = "job_06fbqxvy4r2s4t6v8w0x2y4z60";
const EVT = "evt_06fbqxw6v8s2d4f6g8h0j2k4m6";

it.each([
  ["jobs resume", JOB, "resumeJob", "canary_failed", `webhookd jobs resume ${JOB} --canary.`],
  ["jobs pause", JOB, "pauseJob", "job_ended", `webhookd jobs show ${JOB}\n`],
  ["endpoints rotate-secret", EP, "rotateSecret", "rotation_in_progress", `rotate-secret ${EP} --complete.`],
  ["endpoints rotate-secret --complete", EP, "completeRotation", "not_rotating", `rotate-secret ${EP}\n`],
  ["replay", EVT, "replayEvent", "event_not_failed", `webhookd replay ${EVT} --force\n`],
  ["replay", EVT, "replayEvent", "event_not_failed", `webhookd deliveries attempt --filter event:${EVT}\`. `],
])("%s suggests a command with the object's own id", async (line, id, operation, code, advice) => {
  const refuse = (asked: string) => (asked === operation ? { status: 409, code } : undefined);
  const { err } = await typed([...line.split(" "), id], { refuse });
  expect(err).toContain(advice);
  expect(err).not.toContain("_…");
});

it("a missing rotation is reported once", async () => {
  const answers = { getSecret: { signing_secret: "whsec_x6VJTfNgxWdkHMbqWc3KYnmjKj/ecOx9dOocEVcrrxo=" } };
  const { err } = await typed(["endpoints", "secret", EP, "--next"], { answers });
  expect(err.match(/To begin one: webhookd endpoints rotate-secret ep_06fbqxvx8r4m8q2v6ng0c3kz7t\n/g)).toHaveLength(1);
  expect(err.match(/To begin/g)).toHaveLength(1);
});

it("a key that lacks a scope, or belongs to another tenant, is told how to create one that is allowed", async () => {
  const { err } = await typed(["events", "list"], { refuse: () => ({ status: 403, code: "forbidden" }) });
  expect(err).toContain("To create a key that may: webhookd keys create --name NAME --scope SCOPE,… --tenant TENANT\n");
});
