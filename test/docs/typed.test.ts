import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { TestReceiver } from "../harness/receiver.ts";
import { blocksOf, type Page } from "./blocks.ts";
import { Session } from "./session.ts";

async function type(page: Page, before?: string) {
  const blocks = blocksOf(page).filter(({ rule }) => rule[0] === "run" || rule[0] === "run=checkout");
  expect(blocks.length).toBeGreaterThan(1);
  const session = await Session.open();
  try {
    return await session.type(blocks, before);
  } finally {
    session.end();
  }
}

/** Tools that the pages use, in addition to webhookd and the tools that every system has. */
const TYPED = ["bash", "curl", "grep"];
const missing = TYPED.filter((tool) => spawnSync(tool, ["--version"]).error !== undefined);
if (missing.length > 0) process.stderr.write(`SKIPPED: the pages are not typed: there is no ${missing.join(", ")}\n`);
const itTypes = it.skipIf(missing.length > 0);

describe.concurrent("typed from the page, one block after the other,", () => {
  itTypes("docs/publishing.md works", async () => {
    const { failedAt, said } = await type("docs/publishing.md");
    expect(failedAt, said).toBeNull();
  });

  itTypes("docs/install.md works", async () => {
    const before = `webhookd config init --path "$HOME/etc/webhookd/webhookd.toml" > /dev/null\nsystemctl start webhookd`;
    const { failedAt, said } = await type("docs/install.md", before);
    expect(failedAt, said).toBeNull();
  });

  itTypes("docs/runbook.md works", async () => {
    // Two attempts of each of three events fail, so that there is something to replay. After that the receiver works.
    const receiver = await TestReceiver.start([500, 500, 500, 500, 500, 500]);
    const before = `
head -c 24 /dev/urandom | base64 > "$HOME/etc/webhookd/passphrase"
chmod 600 "$HOME/etc/webhookd/passphrase"
systemctl start webhookd
webhookd endpoints add ${receiver.url} --events all > /dev/null
for n in 1 2 3; do webhookd events send --type budget.exceeded --data '{"n":'$n'}' > /dev/null; done
while [ "$(webhookd deliveries list --status failed --ids | wc -l)" -lt 3 ]; do sleep 0.1; done`;
    try {
      const { failedAt, said } = await type("docs/runbook.md", before);
      expect(failedAt, said).toBeNull();
      // Three events failed twice and were then replayed.
      expect(receiver.requests).toHaveLength(9);
    } finally {
      await receiver.close();
    }
  });
});
