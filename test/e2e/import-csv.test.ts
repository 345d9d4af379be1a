import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EXIT } from "../../cli/exit-code.ts";
import { FakeIo } from "../cli/fake-io.ts";
import { webhookd } from "../cli/runs.ts";
import { TestDaemon } from "../harness/daemon.ts";

it("a CSV file brings endpoints over with their secrets, and what it refuses is left out only if that is wished", async () => {
  const daemon = await TestDaemon.start({});
  const file = join(daemon.dir, "endpoints.csv");
  const run = async (...words: string[]) => {
    const io = new FakeIo();
    const target = ["--url", daemon.url, "--key-file", join(daemon.dir, "admin.key")];
    return { code: await webhookd(io, "import", "csv", file, ...words, ...target), out: io.out, err: io.err };
  };
  const secret = "a secret of nineteen93";
  const lines = [
    "tenant,url,events,secret,uid",
    `acme,https://a.example.com/,goal.achieved,${secret},crm`,
    `acme,https://b.example.com/,goal.achieved no.such,${secret},crm`,
    `globex,https://c.example.com/\u001b[31m,*,${secret},`,
    `globex,https://user:nineteen93@d.example.com/?t=nineteen93,*,${secret},`,
    `globex,user:nineteen93@e.example.com,*,${secret},`,
  ];
  writeFileSync(file, lines.join("\n"));
  const plan = await run("--dry-run");
  expect(plan.code).toBe(EXIT.answer_is_no);
  expect(plan.out).toMatch(/^ {2}crm has the same id or uid as another one$/m);
  const asJson = await run("--dry-run", "--json");
  for (const { out, err } of [plan, asJson]) expect(out + err).not.toMatch(/\u001b|nineteen93/);
  expect((await run("--yes")).code).toBe(EXIT.refused);
  expect((await run("--yes", "--skip", "--enable", "--tenant=acme")).out).toContain("2 endpoints: 1 added, 1 refused");
  const { body } = await daemon.request("GET", "/v1/webhooks/uid:crm/secret?tenant=acme");
  expect(body).toEqual({ signing_secret: secret });
  expect(await run("--yes", "--tenant=nobody")).toMatchObject({ code: EXIT.usage });
  await daemon.request("DELETE", "/v1/webhooks/uid:crm?tenant=acme");
  writeFileSync(file, [lines[0], lines[1]].join("\n"));
  expect((await run("--yes")).out).toContain("1 added");
});
