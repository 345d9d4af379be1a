import { describe, expect } from "vitest";
import { it, MAIN, SCRIPT } from "../harness/process.ts";

describe.concurrent("SIGUSR1 opens no debugger, and ends nothing,", () => {
  it.for([
    ["of scripts/webhookd", [SCRIPT]],
    ["of a process that was started by hand", [process.execPath, MAIN]],
  ] as const)("%s", async ([, program], { machine }) => {
    const daemon = await machine.serve({ program: [...program] as [string, ...string[]] });
    daemon.process.kill("SIGUSR1");
    expect(await daemon.request("GET", "/healthz")).toMatchObject({ status: 200 });
    expect(await daemon.stop()).toBe(0);
    // Node would print there that its debugger listens, or that it could not.
    expect(daemon.process.stderr).toBe("");
  });
});
