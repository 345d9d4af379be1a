import { describe, expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { aHealth } from "../../src/api/endpoints/schemas.ts";
import { anEndpoint } from "../../src/api/endpoints/fields.ts";
import { typed } from "./typed.ts";

const { id } = anEndpoint;
const repair = (parts: readonly string[], ...words: string[]) => {
  const damaged = parts.length === 0 ? null : { parts, reason: "its signing secret cannot be unsealed" };
  const endpoint = { ...anEndpoint, uid: "cus_7", damaged, health: aHealth };
  return typed(["doctor", "--repair-secret", id, ...words], { answers: { getEndpoint: endpoint } });
};

describe("webhookd doctor --repair-secret", () => {
  it("gives the endpoint a new secret at once, shows it nowhere, and says who must be told", async () => {
    const { code, out, err, last, daemon } = await repair(["signing_secret", "headers"]);
    expect([code, daemon.asked(), last!.body]).toEqual([
      EXIT.ok,
      ["getEndpoint", "rotateSecret"],
      { overlap_seconds: 0 },
    ]);
    expect(out).toContain(`Tell the people who run ${anEndpoint.url} (tenant default, uid cus_7).\n`);
    expect(out).toContain(`webhookd endpoints secret ${id}\n`);
    expect(out).toContain(`Also damaged: headers. To repair: webhookd endpoints update ${id} --headers-from FILE\n`);
    expect(out + err).not.toContain("whsec_");
    const json = await repair(["signing_secret"], "--json");
    expect(JSON.parse(json.out)).toMatchObject({ endpoint: id, made: "new_secret", uid: "cus_7" });
  });

  it("forgets a next secret that cannot be read, and leaves the current one", async () => {
    const { code, daemon, out } = await repair(["next_signing_secret"]);
    expect([code, daemon.asked()]).toEqual([EXIT.ok, ["getEndpoint", "abandonRotation"]]);
    expect(out).toContain("the current one stays in use");
  });

  it("rotates no secret that can be read", async () => {
    for (const parts of [[], ["headers"]]) {
      const { code, daemon, err } = await repair(parts);
      expect([code, daemon.asked()]).toEqual([EXIT.conflict, ["getEndpoint"]]);
      expect(err).toContain("there is nothing to repair");
    }
    expect((await repair(["signing_secret"], "--offline")).code).toBe(EXIT.usage);
  });
});
