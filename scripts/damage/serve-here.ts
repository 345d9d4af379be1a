/**
 * Runs `webhookd serve` in this process, with the output and exit code of a process of its own, but without the cost of
 * starting one.
 */
import { webhookd } from "../../cli/front/dispatch.ts";
import type { Io } from "../../cli/io.ts";
import { processIo } from "../../cli/process-io.ts";
import { processInputs } from "../../src/config/inputs.ts";
import type { Life } from "./pages.ts";
import { unawaited } from "../../src/domain/unawaited.ts";

const real = processIo();

export function serveHere(dir: string): Life {
  const listening = Promise.withResolvers<string | null>();
  let stderr = "";
  let onSignal: (signal: "SIGTERM") => void = () => {};
  const takeLines = (text: string) => {
    for (const line of text.split("\n").filter(Boolean)) {
      const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
      if (msg === "listening") listening.resolve(url!);
    }
  };
  const io: Io = {
    ...real,
    stdout: { ...real.stdout, isTTY: false, write: (text: string) => (takeLines(text), true) },
    stderr: { ...real.stderr, write: (text: string) => ((stderr += text), true) },
    env: {},
    // An attempt may take as long as a busy machine needs.
    configInputs: (flags) => ({ ...processInputs(flags), env: { WEBHOOKD_RETRY_TIMEOUT: "10m" }, cwd: dir, home: dir }),
    inheritedSocket: () => null,
    onSignal: (run) => {
      onSignal = run;
      return () => {};
    },
    onHangup() {},
    exit: (code) => listening.reject(new Error(`the daemon exits with ${code}`)),
  };
  const exit = webhookd(["serve", "--dev", "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-format", "json"], io);
  unawaited(exit.then(() => listening.resolve(null)));
  return { listening: listening.promise, exit, stderr: () => stderr, stop: () => onSignal("SIGTERM") };
}
