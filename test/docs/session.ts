import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { ownPort } from "../harness/port.ts";
import { MAIN } from "../harness/process.ts";
import { placeOf, type Block } from "./blocks.ts";

/** compressnet is obsolete, so nothing listens on its port, and the daemon delivers nothing to itself. */
const CLOSED = 2;
const CHECKOUT = resolve(import.meta.dirname, "../..");

export interface Ran {
  readonly code: number;
  /** The place of the block that failed, or null. */
  readonly failedAt: string | null;
  readonly said: string;
}

/** Stand-ins for parts of a host that a test cannot have: systemd, root, another user, and a person at a terminal. */
const STAND_INS: Record<string, string> = {
  webhookd: `
case "$*" in
  "events cancel "* | "events erase "* | "restore "* | "replay "*" --canary "*) set -- "$@" --yes ;;
esac
exec "${process.execPath}" "${MAIN}" "$@"`,
  sudo: `[ "$1" = -u ] && shift 2; exec "$@"`,
  journalctl: `cat "$HOME/daemon.log"`,
  systemctl: `
case $1 in
  start)
    webhookd serve --dev >> "$HOME/daemon.log" 2>&1 &
    echo $! > "$HOME/daemon.pid"
    exec webhookd status --wait --brief > /dev/null ;;
  stop)
    pid=$(cat "$HOME/daemon.pid" 2>/dev/null) || exit 0
    rm "$HOME/daemon.pid"
    kill "$pid" 2>/dev/null || exit 0
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done ;;
  reload) kill -HUP "$(cat "$HOME/daemon.pid")" ;;
  *) echo "no stand-in for systemctl $1" >&2; exit 1 ;;
esac`,
};

/** A shell that runs the blocks of a page one after another, with its own home directory in place of a host. */
export class Session {
  readonly home = mkdtempSync(join(tmpdir(), "webhookd-docs-"));
  readonly #env: Record<string, string>;
  readonly #port: number;
  #group: number | undefined;

  static async open(): Promise<Session> {
    return new Session(await ownPort());
  }

  private constructor(port: number) {
    this.#port = port;
    const bin = join(this.home, "bin");
    for (const dir of [bin, ...["etc/webhookd", "srv/off-host", "var/lib/webhookd"].map((at) => join(this.home, at))]) {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    }
    for (const [name, text] of Object.entries(STAND_INS)) {
      writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    this.#env = {
      HOME: this.home,
      PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
      WEBHOOKD_DATA_DIR: join(this.home, "var/lib/webhookd"),
      WEBHOOKD_SERVER_LISTEN: `127.0.0.1:${port}`,
      WEBHOOKD_DATA_DISK_FLOOR: "1MiB",
      WEBHOOKD_RETRY_DELAYS: "10ms",
      NODE_COMPILE_CACHE: join(CHECKOUT, ".cache/compile"),
    };
  }

  /**
   * Runs `before`, which no page shows, and then the blocks. It ends at the first one that fails, and stops the
   * processes that they started.
   */
  async type(blocks: readonly Block[], before = ""): Promise<Ran> {
    const script = `${HEAD}\n${before}\n${blocks.map((block, index) => this.#typed(block, index)).join("\n")}`;
    writeFileSync(join(this.home, "session.sh"), script);
    const cwd = join(this.home, "work");
    mkdirSync(cwd);
    const shell = spawn("bash", [join(this.home, "session.sh")], {
      cwd,
      env: { ...this.#env, CHECKOUT },
      detached: true,
    });
    this.#group = shell.pid;
    let said = "";
    for (const stream of [shell.stdout, shell.stderr]) stream.setEncoding("utf8").on("data", (text) => (said += text));
    const [code] = (await once(shell, "close")) as [number];
    const last =
      said
        .match(/^@@ .+$/gm)
        ?.at(-1)
        ?.slice(3) ?? "before the first block";
    return { code, failedAt: code === 0 ? null : last, said: code === 0 ? said : `${said}\n${this.#logs()}` };
  }

  /** Kills the processes that are left, and removes the home directory. */
  end(): void {
    try {
      process.kill(-this.#group!, "SIGKILL");
    } catch {}
    rmSync(this.home, { recursive: true, force: true });
  }

  #typed(block: Block, index: number): string {
    const text = this.#here(block.text);
    const mark = `echo '@@ ${placeOf(block)}'`;
    const [how = "run", ...more] = block.rule;
    const until = more.find((word) => word.startsWith("until="))?.slice(6);
    if (until !== undefined) {
      const log = `"$HOME/background-${index}.log"`;
      const cd = how === "run=checkout" ? 'cd "$CHECKOUT"; ' : "";
      return `${mark}\n(${cd}exec ${text.trim()}) > ${log} 2>&1 &\nawait_line ${log} '${until}'`;
    }
    return how === "run=checkout" ? `${mark}\ncd "$CHECKOUT"\n${text}cd - > /dev/null` : `${mark}\n${text}`;
  }

  /** Replaces the paths and addresses of a host by those of this session. */
  #here(text: string): string {
    return (
      text
        .replaceAll(/(?<![\w.])\/(var\/lib\/webhookd|etc\/webhookd|srv\/off-host)/g, `${this.home}/$1`)
        .replaceAll("/run/webhookd/webhookd.sock", `${this.home}/var/lib/webhookd/webhookd.sock`)
        .replaceAll(/(?<![\w./])data\/(admin\.key|webhookd\.sock)/g, `${this.home}/var/lib/webhookd/$1`)
        .replaceAll("127.0.0.1:8420", `127.0.0.1:${this.#port}`)
        .replaceAll(/\b(ep|evt|key)_…/g, '"$(id_of $1)"')
        // A test must not call a real host.
        .replaceAll("https://example.com/hook", `http://127.0.0.1:${CLOSED}/hook`)
    );
  }

  #logs(): string {
    try {
      return readFileSync(join(this.home, "daemon.log"), "utf8").split("\n").slice(-20).join("\n");
    } catch {
      return "";
    }
  }
}

const HEAD = `
set -euo pipefail
id_of() {
  test -s "$HOME/$1.id" || case $1 in
    ep) webhookd endpoints list --ids --limit 1 ;;
    evt) webhookd events list --ids --limit 1 ;;
    key) webhookd keys list --order oldest --ids --limit 1 ;;
  esac > "$HOME/$1.id"
  cat "$HOME/$1.id"
}
ended() {
  systemctl stop webhookd || true
  kill $(jobs -p) 2>/dev/null || true
  wait || true
}
trap ended EXIT
await_line() {
  for try in $(seq 2400); do
    if grep -q -- "$2" "$1" 2>/dev/null; then return; fi
    sleep 0.05
  done
  cat "$1"
  return 1
}
`;
