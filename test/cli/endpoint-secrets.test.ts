import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { typed, type Typing } from "./typed.ts";

const { id } = anEndpoint;
const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=";
const endpoints = (words: readonly string[], typing?: Typing) => typed(["endpoints", ...words], typing);

describe("webhookd endpoints rotate-secret and secret", () => {
  it("print the one secret that is meant, alone", async () => {
    const { out, err, last } = await endpoints(["rotate-secret", id, "--overlap=2h"]);
    expect(out).toMatch(/^whsec_C2\S+\n$/);
    expect(err).not.toContain("whsec_");
    expect(last!.body).toEqual({ overlap_seconds: 7200 });
    const switched = await endpoints(["rotate-secret", id, "--overlap=0s"], {
      answers: { rotateSecret: { signing_secret: SECRET } },
    });
    expect([switched.out, switched.err]).toEqual([`${SECRET}\n`, expect.stringContaining("in use from now on")]);
  });

  it("bring one along without printing it", async () => {
    for (const more of [[], ["--json"]]) {
      const { code, out, err, last } = await endpoints(["rotate-secret", id, "--secret-from=-", ...more], {
        input: [SECRET],
      });
      expect([code, last!.body]).toEqual([EXIT.ok, { secret: SECRET }]);
      expect(out + err).not.toContain("whsec_");
    }
  });

  it("refuse one that is easy to guess, without printing it", async () => {
    const { code, err, daemon } = await endpoints(["rotate-secret", id, "--secret-from=-"], {
      input: ["hunter2hunter2hunter2"],
    });
    expect([code, daemon.asked()]).toEqual([EXIT.usage, []]);
    expect(err).toContain("the secret on stdin is easy to guess: make one with `openssl rand -base64 32`");
    expect(err).not.toContain("hunter2");
  });

  it("end a rotation one way or the other", async () => {
    const completed = await endpoints(["rotate-secret", id, "--complete"]);
    expect([completed.out, completed.daemon.asked()]).toEqual([
      expect.stringContaining("has taken over"),
      ["completeRotation"],
    ]);
    const abandoned = await endpoints(["rotate-secret", id, "--abandon", "--json"]);
    expect([JSON.parse(abandoned.out), abandoned.daemon.asked()]).toEqual([
      { id, abandoned: true },
      ["abandonRotation"],
    ]);
    const refuse = () => ({ status: 409, code: "not_rotating" });
    for (const flag of ["--complete", "--abandon"]) {
      expect((await endpoints(["rotate-secret", id, flag], { refuse })).code).toBe(EXIT.conflict);
    }
  });

  it.each([["--complete", "--abandon"], ["--complete", "--overlap=1h"], ["--overlap=8d"], ["--overlap=1500ms"]])(
    "refuse %s %s before they ask anybody",
    async (...flags) => {
      const { code, daemon } = await endpoints(["rotate-secret", id, ...flags]);
      expect([code, daemon.seen]).toEqual([EXIT.usage, []]);
    },
  );

  it("--next is the one that takes over; without a rotation there is none", async () => {
    const next = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDC2FVsBQIhrs=";
    const rotating = { signing_secret: SECRET, next_signing_secret: next, switches_at: "2026-11-21T09:55:00.000Z" };
    const answers = { getSecret: rotating };
    expect((await endpoints(["secret", id, "--next"], { answers })).out).toBe(`${next}\n`);
    const current = await endpoints(["secret", id], { answers });
    expect([current.out, current.err]).toEqual([`${SECRET}\n`, expect.stringContaining("add --next")]);
    expect((await endpoints(["secret", id, "--next"])).code).toBe(EXIT.conflict);
  });
});
