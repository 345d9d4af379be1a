import { once } from "node:events";
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { unawaited } from "../../src/domain/unawaited.ts";

describe("work that nobody waits for", () => {
  it("ends the process with what it did not foresee", async () => {
    const file = join(import.meta.dirname, "../../src/domain/unawaited.ts");
    const script = `import { unawaited } from ${JSON.stringify(file)};
process.on("uncaughtException", (error) => { console.log(error.message); process.exit(70); });
process.on("unhandledRejection", () => process.exit(1));
unawaited(Promise.reject(new Error("planted")));
setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script]);
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    expect({ out, code }).toEqual({ out: "planted\n", code: 70 });
  });

  it("may be none", () => {
    unawaited(undefined);
    unawaited(null);
  });
});
